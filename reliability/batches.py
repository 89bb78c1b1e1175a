"""Embeds the same sentences in random order and random batches, and compares the vectors.

Run: python -m reliability.batches [--sentences 10000] [--model english-small] [--threads 1 2 4] [--seed 0]
     [--precision float32 bfloat16 int8]

With the kernels the vectors must be equal to the last bit, in every precision and with any number of threads; without
them to 1e-5. Run it once more with POLYSEME_KERNELS=off for the second.
"""

import argparse
import random
import sys
from collections.abc import Sequence

import numpy as np
import torch

from polyseme import load
from polyseme.arrays import Vectors
from polyseme.nn.backend import available
from polyseme.nn.kernels.packed import PRECISIONS, Precision
from reliability.server import say

LARGEST = 1e-5
"""What vectors may differ by without kernels."""
_WORDS = ("the", "a", "bank", "river", "of", "money", "plays", "Zürich", "的", "don't", "3.14", "internationalisation")


def sentences(count: int, seed: int) -> list[list[str]]:
    """Sentences of one to forty words, some of which nobody has seen."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        words = draw.choices(_WORDS, k=min(40, 1 + int(draw.expovariate(0.12))))
        made.append([word if draw.random() < 0.9 else f"{word}{draw.randrange(10**6)}" for word in words])
    return made


def largest_difference(
    model: str, precision: Precision, text: Sequence[list[str]], expected: Sequence[Vectors], seed: int
) -> float:
    """The largest difference of the vectors of shuffled sentences, in batches of random sizes, to the expected ones."""
    draw, order, worst = random.Random(seed), list(range(len(text))), 0.0
    draw.shuffle(order)
    source = load(model, precision=precision, batch_tokens=draw.choice((64, 300, 2048)))
    begin = 0
    while begin < len(order):
        some = order[begin : begin + draw.choice((1, 2, 7, 64, 500))]
        begin += len(some)
        for number, found in zip(some, source.embed([text[one] for one in some], layers="all"), strict=True):
            worst = max(worst, float(np.abs(found - expected[number]).max()))
    return worst


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--model", default="english-small")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--precision", choices=PRECISIONS, nargs="+", default=PRECISIONS)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    text, failed = sentences(chosen.sentences, chosen.seed), False
    say("| computed by | precision | threads | sentences | largest difference |\n| --- | --- | ---: | ---: | ---: |")
    for precision in chosen.precision:
        kernels = available(precision)
        torch.set_num_threads(chosen.threads[0])
        expected = load(chosen.model, precision=precision, batch_tokens=512).embed(text, layers="all")
        for threads in chosen.threads:
            torch.set_num_threads(threads)
            worst = largest_difference(chosen.model, precision, text, expected, chosen.seed + threads)
            failed |= worst > (0.0 if kernels else LARGEST)
            say(f"| {'kernels' if kernels else 'torch'} | {precision} | {threads} | {len(text):,} | {worst:.2g} |")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
