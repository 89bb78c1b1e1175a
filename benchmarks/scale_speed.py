"""The speed of ``polyseme embed --engine ray`` on two nodes beside the ordinary command, in one run, in turns.

``python -m benchmarks.scale_speed TEXT...`` prints tokens per second after start-up, for float32 and int8: of the
ordinary command, which uses both processors as threads, and of two Ray nodes with one processor each. Start-up is what
passes before the first worker is ready, or before the ordinary command embeds.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import chain, islice, repeat
from pathlib import Path
from statistics import median

from benchmarks.process import say
from benchmarks.ray_nodes import RayNodes
from polyseme.text.corpus import Corpus

POLYSEME = str(Path(sys.executable).with_name("polyseme"))


def write_text(sources: list[str], sentences: int, target: Path) -> int:
    """Write this many tokenised sentences, those of the sources again and again; returns the number of tokens."""
    found = [one.tokens for one in Corpus(sources, tokenize="en") if one.tokens]
    chosen = list(islice(chain.from_iterable(repeat(found)), sentences))
    target.write_text("".join(" ".join(tokens) + "\n" for tokens in chosen))
    return sum(map(len, chosen))


def embed(text: Path, output: Path, cluster: RayNodes | None, precision: str) -> float:
    """Tokens per second of one run after start-up."""
    command = [POLYSEME, "embed", str(text), "-m", "english-small", "-o", str(output), "--layers", "mean", "--json"]
    command += ["--tokenize", "none", "--precision", precision]
    environment = None
    if cluster is not None:
        command += ["--engine", "ray", "--address", cluster.address]
        environment = cluster.environment
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    result = json.loads(done.stdout)
    # The ordinary command counts its seconds from the moment at which the model is loaded.
    seconds = result["seconds"] - result.get("seconds_starting", 0.0)
    return float(result["tokens"] / seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+")
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--precisions", nargs="+", default=["float32", "int8"])
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="polyseme-scale-"))
    begun = time.monotonic()
    try:
        tokens = write_text(given.text, given.sentences, folder / "text.txt")
        say(f"{given.sentences:,} sentences, {tokens:,} tokens")
        with RayNodes(2) as cluster:
            for precision in given.precisions:
                speeds: dict[str, list[float]] = {"one process": [], "ray": []}
                for _ in range(given.rounds):
                    speeds["one process"].append(embed(folder / "text.txt", folder / "o.parquet", None, precision))
                    (folder / "o.parquet").unlink()
                    speeds["ray"].append(embed(folder / "text.txt", folder / "parts", cluster, precision))
                    shutil.rmtree(folder / "parts")
                one, ray = median(speeds["one process"]), median(speeds["ray"])
                each = "; ".join(f"{name} {', '.join(f'{x:,.0f}' for x in found)}" for name, found in speeds.items())
                say(f"{precision}: one process {one:,.0f} tokens/s, ray {ray:,.0f} tokens/s: {ray / one:.0%} ({each})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
