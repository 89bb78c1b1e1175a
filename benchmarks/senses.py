"""How well each layer of a model tells the senses of a word apart.

Run: python -m benchmarks.senses MODEL [--language en|zh] [--json]

benchmarks/sense_pairs holds pairs of sentences around one ambiguous word, written for this purpose, half of them with
the same sense and half with different ones. The AUC is the chance that a pair of the same sense is more similar than a
pair of different senses; 0.5 is blind, as layer 0 is by construction, since it sees the word alone.

Many pairs of different senses share other words, and those of the same sense hardly any, so that words in common
mislead: their share scores 0.31 (English) and 0.34 (Chinese), and random weights score below 0.5 as well.
"""

import argparse
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.process import say
from polyseme import Embedder, load
from polyseme.errors import FormatError, InputError, PolysemeError
from polyseme.text.tokenizers import Tokenizer, tokenized

FOLDER = Path(__file__).parent / "sense_pairs"
LANGUAGES: dict[Tokenizer, str] = {"en": "english", "zh": "chinese"}
COLUMNS = ["word", "sentence 1", "sentence 2", "label"]
DRAWS, SEED = 10_000, 0

Numbers = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True)
class Occurrence:
    """A token in its sentence."""

    tokens: list[str]
    position: int


@dataclass(frozen=True)
class Pair:
    """A word twice, and whether its sense is the same."""

    word: str
    occurrences: tuple[Occurrence, Occurrence]
    same: bool


@dataclass(frozen=True)
class Figures:
    """What a layer makes of the pairs.

    Attributes:
        layer: Its number, or "mean" of all.
        auc: Chance that a same-sense pair is more similar than a different-sense pair.
        low: Lower end of the 95% interval of the AUC.
        high: Upper end.
        same: Mean cosine of same-sense pairs.
        different: Mean cosine of different-sense pairs.
    """

    layer: str
    auc: float
    low: float
    high: float
    same: float
    different: float


def language_of(model: str) -> Tokenizer:
    """The language that a model's name tells."""
    found = [language for language, name in LANGUAGES.items() if name in model.lower()]
    if len(found) != 1:
        names = " or ".join(map(repr, LANGUAGES.values()))
        raise InputError(f"{model}: expected a name with {names} in it, to know the language; give --language en or zh")
    return found[0]


def read_pairs(path: Path, language: Tokenizer) -> list[Pair]:
    """Read and tokenise pairs: tab-separated `COLUMNS` under a header of these names."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if lines[:1] != [COLUMNS]:
        raise FormatError(f"{path}, line 1: got {lines[:1]}, expected the header {COLUMNS}, separated by tabs")
    pairs = []
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}, line {number}"
        if len(line) != len(COLUMNS):
            raise FormatError(f"{where}: got {len(line)} columns, expected {len(COLUMNS)}, separated by tabs")
        word, one, two, label = line
        if label not in ("same", "different"):
            raise FormatError(f"{where}: the label is {label!r}, expected 'same' or 'different'")
        occurrences = _occurrence(word, one, language, where), _occurrence(word, two, language, where)
        pairs.append(Pair(word, occurrences, label == "same"))
    if len({pair.same for pair in pairs}) != 2:
        raise FormatError(f"{path}: got {len(pairs)} pairs, expected some with the label 'same' and some 'different'")
    return pairs


def similarities(embedder: Embedder, pairs: list[Pair]) -> dict[str, Numbers]:
    """The cosines of the pairs by layer: its number, or "mean" of all."""
    occurrences = [occurrence for pair in pairs for occurrence in pair.occurrences]
    arrays = embedder.embed([occurrence.tokens for occurrence in occurrences])
    chosen = [array[:, occurrence.position] for array, occurrence in zip(arrays, occurrences, strict=True)]
    vectors = np.stack(chosen).astype(np.float64)  # (2 x pairs, L, D)
    vectors = np.concatenate([vectors, vectors.mean(axis=1, keepdims=True)], axis=1)  # (2 x pairs, L + 1, D)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    # Beyond the sixth decimal is rounding of float32, which must not break the ties of layer 0.
    cosines = (vectors[0::2] * vectors[1::2]).sum(axis=2).round(6)  # (pairs, L + 1)
    return dict(zip([*map(str, range(embedder.layers)), "mean"], cosines.T, strict=True))


def auc(scores: Numbers, same: Labels) -> float:
    """The share of (same, different) couples in which the same-sense pair scores higher; a tie counts a half."""
    return float(_wins(scores, same).mean())


def interval(scores: Numbers, same: Labels) -> tuple[float, float]:
    """The 95% bootstrap interval of the AUC: pairs of each label are drawn anew, as many as there are."""
    wins = _wins(scores, same)
    random = np.random.default_rng(SEED)
    # How often each pair is drawn stands for the draw itself: (draws, same) and (draws, different).
    rows, columns = (random.multinomial(size, np.full(size, 1 / size), DRAWS) for size in wins.shape)
    drawn = ((rows @ wins) * columns).sum(axis=1) / wins.size
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def measure(embedder: Embedder, pairs: list[Pair]) -> list[Figures]:
    """The figures of every layer and of their mean."""
    same = np.array([pair.same for pair in pairs])
    return [
        Figures(layer, auc(scores, same), *interval(scores, same), scores[same].mean(), scores[~same].mean())
        for layer, scores in similarities(embedder, pairs).items()
    ]


def table(figures: list[Figures]) -> str:
    """The figures in Markdown."""
    lines = ["| layer | AUC | 95% interval | same sense | different sense |", "|---|---|---|---|---|"]
    for row in figures:
        between = f"{row.low:.3f} to {row.high:.3f}"
        lines.append(f"| {row.layer} | {row.auc:.3f} | {between} | {row.same:.3f} | {row.different:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure a model and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.senses", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a model of any known format")
    parser.add_argument("--language", choices=LANGUAGES, help="of the pairs; by default as the model's name tells")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    try:
        language = given.language or language_of(given.model)
        pairs = read_pairs(FOLDER / f"{LANGUAGES[language]}.tsv", language)
        figures = measure(load(given.model), pairs)
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")
    facts = {"model": given.model, "language": language, "pairs": len(pairs), "words": len({p.word for p in pairs})}
    if given.json:
        say(json.dumps({**facts, "layers": [asdict(row) for row in figures]}, ensure_ascii=False))
    else:
        say(f"{given.model}: {facts['pairs']} pairs of {facts['words']} words ({language})\n\n{table(figures)}")


def _occurrence(word: str, text: str, language: Tokenizer, where: str) -> Occurrence:
    sentences = list(tokenized(io.StringIO(text).readline, language))
    if len(sentences) != 1:
        raise FormatError(f"{where}: {text!r} is {len(sentences)} sentences, expected one")
    tokens = sentences[0]
    if (count := tokens.count(word)) != 1:
        raise FormatError(f"{where}: {word!r} is {count} tokens of {' '.join(tokens)!r}, expected one; reword it")
    return Occurrence(tokens, tokens.index(word))


def _wins(scores: Numbers, same: Labels) -> Numbers:
    """What each same-sense pair scores against each different-sense pair: 1, a half for a tie, or 0."""
    difference = scores[same][:, None] - scores[~same]
    return (np.sign(difference) + 1) / 2


if __name__ == "__main__":
    main()
