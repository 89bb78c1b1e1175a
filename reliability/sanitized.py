"""Runs the tests of the kernels, and random calls of them, with the address and undefined-behaviour sanitisers.

Run: python -m reliability.sanitized [--calls 10000] [--seed 0] [--folder fuzz-output]

Calls have odd sizes, one to four threads, and in half of them NaN, infinity or numbers at the limits among the weights
and the inputs. The first fault ends the run, with the report of the sanitiser and the number of the call.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from reliability.sanitizers import environment, is_sanitized
from reliability.server import say

TESTS = ("tests/nn", "tests/models/test_bilm.py", "tests/train/test_objective.py", "tests/train/test_muon.py")
# These load other libraries, or start processes with kernels of their own.
_LEFT_OUT = ("--deselect=tests/nn/kernels/test_build.py",)


def calls(count: int, seed: int) -> None:
    """Make random calls in this process."""
    from collections import Counter

    import torch

    from reliability.targets.kernels import random_call

    torch.set_num_threads(1)
    made: Counter[str] = Counter()
    for number in range(count):
        sys.stderr.write(f"\rcall {number}")
        made[random_call(f"{seed}:{number}")] += 1
    say(f"\n{count:,} calls, seed {seed}: {', '.join(f'{name[1:]} {n:,}' for name, n in sorted(made.items()))}")


def main() -> None:
    """Test and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("fuzz-output"))
    parser.add_argument("--no-tests", action="store_true", help="only the random calls")
    chosen = parser.parse_args()
    if is_sanitized():
        calls(chosen.calls, chosen.seed)
        return
    inner = environment(chosen.folder.absolute() / "sanitized")
    if not chosen.no_tests:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_LEFT_OUT, *TESTS]
        subprocess.run(command, env=inner, check=True)
    again = [sys.executable, "-m", "reliability.sanitized", f"--calls={chosen.calls}", f"--seed={chosen.seed}"]
    subprocess.run(again, env=inner, check=True)


if __name__ == "__main__":
    main()
