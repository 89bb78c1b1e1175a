"""How near bfloat16 and int8 come to float32: the lowest and the mean cosine of a token's vectors, by layer."""

import argparse
from itertools import islice

import numpy as np

from benchmarks.process import say
from polyseme import Embedder
from polyseme.formats.detect import open_model
from polyseme.text.corpus import Corpus


def main() -> None:
    """Measure a model on a text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a model of any known format")
    parser.add_argument("text", help="raw English text")
    parser.add_argument("--sentences", type=int, default=400)
    given = parser.parse_args()
    model = open_model(given.model)
    corpus = Corpus([given.text], tokenize="en")
    sentences = [sentence.tokens for sentence in islice(corpus, given.sentences)]
    exact = Embedder(model).embed(sentences)
    for precision in ("bfloat16", "int8"):
        rounded = Embedder(model, precision=precision).embed(sentences)
        for layer in range(model.bilm.layers):
            one = np.concatenate([vectors[layer] for vectors in exact])
            two = np.concatenate([vectors[layer] for vectors in rounded])
            cosine = (one * two).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
            worst, mean = cosine.min(), cosine.mean()
            say(f"{precision}, layer {layer}: lowest {worst:.6f}, mean {mean:.6f}, {len(cosine):,} tokens")


if __name__ == "__main__":
    main()
