"""How fast a layer of LSTMs without projection is, in the kernels and in torch, one thread, in turn.

Run: python -m benchmarks.recurrent_step

The best of some rounds of each, in GFLOP/s of processor time: of the forward pass, and of the backward pass with the
gradients of inputs and weights.
"""

import time
from unittest import mock

import torch

from benchmarks.process import say
from polyseme.nn.bilstm import BiLstm
from polyseme.nn.kernels.threads import set_threads
from polyseme.nn.packing import Packing

SIZES = ((32, 122, 150), (32, 378, 150), (64, 200, 200), (64, 300, 300))
"""Sentences, inputs, cells."""
ROUNDS = 8


def best_seconds(lstm: BiLstm, rows: torch.Tensor, packing: Packing) -> tuple[float, float]:
    """The shortest forward and the shortest backward pass."""
    forward = backward = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        top = lstm(rows, packing)[-1]
        middle = time.process_time()
        top.sum().backward()
        forward, backward = min(forward, middle - start), min(backward, time.process_time() - middle)
    return forward, backward


def main() -> None:
    """Measure all sizes and print a table."""
    torch.set_num_threads(1)
    set_threads(1)
    torch.manual_seed(0)
    say("| batch, inputs, cells | torch | kernels | times as fast |\n|---|---:|---:|---:|")
    for batch, inputs, cells in SIZES:
        lengths = [17 + number % 8 for number in range(batch)]
        packing, lstm = Packing.of(lengths), BiLstm(input_dim=inputs, hidden_dim=cells)
        rows = torch.randn(sum(lengths), inputs, requires_grad=True)
        with mock.patch("polyseme.nn.backend.available", return_value=False):
            theirs = best_seconds(lstm, rows, packing)
        ours = best_seconds(lstm, rows, packing)
        work = 16e-9 * sum(lengths) * cells * (inputs + cells)  # two directions of four gates
        shown = [f"{work / forward:.0f} / {2 * work / backward:.0f}" for forward, backward in (theirs, ours)]
        say(f"| {batch}, {inputs}, {cells} | {' | '.join(shown)} | {sum(theirs) / sum(ours):.1f} |")


if __name__ == "__main__":
    main()
