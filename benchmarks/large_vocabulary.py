"""Memory and speed of one training step at a vocabulary of 800,000 words: sampled, adaptive and full softmax.

Run: python -m benchmarks.large_vocabulary [--words 800000] [--dim 128]

Each softmax runs in a process of its own, so that its peak memory can be measured. The measurement is of the output
layer with its optimiser, on random states for one batch of tokens; the network below it is the same for all three.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

WAYS = ("sampled", "adaptive", "full")


def measure(way: str, words: int, dim: int, tokens: int, steps: int) -> dict[str, float]:
    """Train one output layer for a few steps, in this process."""
    import numpy as np
    import torch

    from polyseme.nn.adaptive_softmax import AdaptiveSoftmax
    from polyseme.nn.sampled_softmax import Negatives, sampled_nll
    from polyseme.nn.softmax import FullSoftmax, Softmax
    from polyseme.train.engine.optimizers import Optimizer
    from polyseme.train.engine.row_gradient import RowGradient, RowTable
    from polyseme.train.lm.settings import settings_of

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cutoffs = (4000, 40_000, 200_000)
    softmax: Softmax = AdaptiveSoftmax(dim, words, cutoffs) if way == "adaptive" else FullSoftmax(dim, words)
    settings = settings_of("small")
    table = RowTable(softmax.weight, softmax.bias) if way == "sampled" and isinstance(softmax, FullSoftmax) else None
    optimizer = Optimizer(softmax, settings, table)
    generator = np.random.default_rng(0)
    times = []
    for _ in range(steps):
        states = torch.randn(tokens, dim, requires_grad=True)
        # Words distributed as in text: log-uniform over the ranks.
        targets = torch.from_numpy(np.exp(generator.random(tokens) * np.log(words)).astype(np.int64) - 1).clamp(min=0)
        begun = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if isinstance(softmax, FullSoftmax) and way == "sampled":
                negatives = Negatives.draw(settings.samples, words, generator)
                rows = torch.unique(torch.cat([targets, torch.from_numpy(negatives.words)]))
                weight = softmax.weight.detach()[rows].requires_grad_()
                bias = softmax.bias.detach()[rows].requires_grad_()
                sampled_nll(states, weight, bias, rows=rows, targets=targets, negatives=negatives).backward()
                assert weight.grad is not None
                assert bias.grad is not None
                gradient = RowGradient(rows, weight.grad, bias.grad)
            else:
                softmax.nll(states, targets).backward()
                gradient = None
        optimizer.step(1e-3, gradient)
        softmax.zero_grad()
        times.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    weights = sum(parameter.numel() * 4 for parameter in softmax.parameters()) / 2**20
    return {"weights_mib": weights, "peak_mib": peak - base, "tokens_per_second": tokens / min(times)}


def main() -> None:
    """Run each softmax in its own process and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=800_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=2048, help="tokens of a batch")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--way", choices=WAYS, help="measure this one here and print JSON")
    given = parser.parse_args()
    if given.way:
        sys.stdout.write(json.dumps(measure(given.way, given.words, given.dim, given.tokens, given.steps)) + "\n")
        return
    sys.stdout.write(f"{given.words:,} words of width {given.dim}, {given.tokens:,} tokens a batch\n")
    sys.stdout.write(f"{'softmax':10}{'weights MiB':>12}{'peak MiB':>10}{'tokens/s':>10}\n")
    sizes = ("--words", given.words, "--dim", given.dim, "--tokens", given.tokens, "--steps", given.steps)
    for way in WAYS:
        command = [sys.executable, "-m", "benchmarks.large_vocabulary", "--way", way, *map(str, sizes)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        sys.stdout.write(
            f"{way:10}{found['weights_mib']:12,.0f}{found['peak_mib']:10,.0f}{found['tokens_per_second']:10,.0f}\n"
        )


if __name__ == "__main__":
    main()
