"""Compares the perplexities of models with different vocabularies: over the words that all of them can predict.

Run: python -m benchmarks.same_words TEXT MODEL MODEL ...

TEXT is tokenised already, one sentence per line. The ends of sentences do not count. A model with fewer words to
predict has an easier task; what it does not know is left out for all.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.process import say
from polyseme.embed.embedder import Embedder
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError, PolysemeError
from polyseme.text.corpus import Corpus

AT_ONCE = 256


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_words", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("text", type=Path, help="tokenised text, one sentence per line")
    parser.add_argument("models", nargs="+", help="models of any known format that have a softmax")
    given = parser.parse_args()
    try:
        say(report(given.text, given.models))
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")


def report(text: Path, models: list[str]) -> str:
    """The perplexities in Markdown."""
    sentences = [sentence.tokens for sentence in Corpus([text], tokenize="none") if sentence.tokens]
    embedders = [load_embedder(model) for model in models]
    known = common_words(embedders, sentences)
    lines = [
        f"{known.mean():.1%} of {len(known):,} words are among those that every model can predict.\n",
        "| model | forward | backward | average |",
        "|---|---:|---:|---:|",
    ]
    for name, embedder in zip(models, embedders, strict=True):
        forward, backward = perplexities(embedder, sentences, known)
        lines.append(f"| {name} | {forward:.1f} | {backward:.1f} | {(forward + backward) / 2:.1f} |")
    return "\n".join(lines)


def common_words(embedders: list[Embedder], sentences: list[list[str]]) -> NDArray[np.bool_]:
    """(N,) which of all words every model can predict."""
    vocabularies = []
    for embedder in embedders:
        if embedder.model.vocabulary is None:
            raise InputError("a model without words to predict has no perplexity; give models with a softmax")
        vocabularies.append(embedder.model.vocabulary)
    words = [word for sentence in sentences for word in sentence]
    return np.array([all(word in vocabulary.ids for vocabulary in vocabularies) for word in words])


def perplexities(embedder: Embedder, sentences: list[list[str]], known: NDArray[np.bool_]) -> tuple[float, float]:
    """Forward and backward perplexity over the known words, with the full softmax."""
    scores = np.concatenate(
        [
            one
            for start in range(0, len(sentences), AT_ONCE)
            for one in embedder.score(sentences[start : start + AT_ONCE])
        ]
    )  # (N, 2)
    forward, backward = (math.exp(-mean) for mean in scores[known].mean(axis=0, dtype=np.float64))
    return forward, backward


if __name__ == "__main__":
    main()
