"""Embed a page of raw text with weights in a published format, and look at one word in its contexts."""

import json
import os
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np

import polyseme
from polyseme.cli.main import app

HERE = Path(__file__).parent
MODEL = HERE.parent / "tests/golden/allennlp/two_layers"
REFERENCE = HERE.parent / "tests/golden/allennlp/two_layers.npz"
OUTPUT = HERE.parent / "demo-output"


def run(*arguments: str) -> None:
    """Run a command as a person would, and show it."""
    sys.stdout.write(f"\n$ polyseme {' '.join(arguments)}\n")
    sys.stdout.flush()
    app(list(arguments), standalone_mode=False)


def similarity(one: np.ndarray, two: np.ndarray) -> float:
    """Cosine."""
    return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


def main() -> None:
    """Show the main job: weights in, text in, vectors out, and what they know."""
    shutil.rmtree(OUTPUT, ignore_errors=True)  # what an interrupted demo left would be in the way
    OUTPUT.mkdir()
    model, text, output = (os.path.relpath(path) for path in (MODEL, HERE / "bank.txt", OUTPUT / "bank.h5"))
    run("info", model)
    run("embed", text, "--tokenize", "en", "--model", model, "--output", output, "--overwrite")

    with h5py.File(output) as file:
        numbers = json.loads(file["sentence_to_index"][0])
        places = [
            (sentence, file[number][:, sentence.split().index("bank")])  # (L, D)
            for sentence, number in numbers.items()
            if "bank" in sentence.split()
        ]
    first = places[0]
    sys.stdout.write(
        f"\n'bank' in {len(places)} sentences, compared with the first; layer 0 does not know its context:\n"
    )
    sys.stdout.write("  layer 0  layer 1  layer 2\n")
    for sentence, layers in places:
        row = "  ".join(f"{similarity(first[1][layer], layers[layer]):7.3f}" for layer in range(len(layers)))
        sys.stdout.write(f"  {row}   {sentence[:80]}\n")

    embedder = polyseme.load(MODEL)
    batch = json.loads((MODEL.parent / "sentences.json").read_text(encoding="utf-8"))[0]
    with np.load(REFERENCE) as reference:
        wanted = reference["stateless/batch0/layers"]
    worst = max(
        float(np.abs(vectors - wanted[:, row, : vectors.shape[1]]).max())
        for row, vectors in enumerate(embedder.embed(batch))
    )
    sys.stdout.write(f"\nLargest difference from the layers AllenNLP itself computes with these weights: {worst:.1e}\n")


main()
