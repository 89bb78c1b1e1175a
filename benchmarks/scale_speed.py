"""The speed of ``polyseme embed --engine ray`` on two nodes beside the ordinary command, in one run, in turns.

``python -m benchmarks.scale_speed TEXT...`` prints for float32 and int8, of the ordinary command, which uses both
processors as threads, and of two Ray nodes with one processor each: tokens per second after start-up, which is what
passes before the first worker is ready or before the ordinary command embeds; and the processor's time for a million
tokens, which other work on the machine hardly affects. The time that Ray's own processes and start-up take is not left
out of the latter, but that of a run on a single sentence is taken off.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        tokens: How many it embedded.
        seconds: After start-up.
        processor: Seconds of the processor, of all its processes.
    """

    tokens: int
    seconds: float
    processor: float


def embed(text: Path, output: Path, cluster: RayNodes | None, precision: str) -> Run:
    """Run the command once."""
    command = [POLYSEME, "embed", str(text), "-m", "english-small", "-o", str(output), "--layers", "mean", "--json"]
    command += ["--tokenize", "none", "--precision", precision]
    environment = None
    if cluster is not None:
        command += ["--engine", "ray", "--address", cluster.address]
        environment = cluster.environment
    before = cluster.processor_seconds() if cluster is not None else {}
    children = _children_seconds()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    after = dict(before)
    while process.poll() is None:  # actors end with the run, so they are looked at while they live
        time.sleep(0.1)
        after |= cluster.processor_seconds() if cluster is not None else {}
    assert process.stdout is not None
    result = json.loads(process.stdout.read())
    nodes = sum(after.values()) - sum(before.values())
    output_of = shutil.rmtree if output.is_dir() else Path.unlink
    output_of(output)
    # The ordinary command counts its seconds from the moment at which the model is loaded.
    seconds = result["seconds"] - result.get("seconds_starting", 0.0)
    return Run(result["tokens"], seconds, _children_seconds() - children + nodes)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(text: Path, one_sentence: Path, cluster: RayNodes, precision: str, rounds: int) -> str:
    """Both commands in turns, as one line."""
    folder = text.parent
    places: dict[str, tuple[Path, RayNodes | None]] = {
        "one process": (folder / "o.parquet", None),
        "ray": (folder / "parts", cluster),
    }
    speed: dict[str, float] = {}
    cost: dict[str, float] = {}
    starting = {name: embed(one_sentence, *place, precision).processor for name, place in places.items()}
    runs: dict[str, list[Run]] = {name: [] for name in places}
    for _ in range(rounds):
        for name, place in places.items():
            runs[name].append(embed(text, *place, precision))
    for name, found in runs.items():
        speed[name] = median(run.tokens / run.seconds for run in found)
        cost[name] = median((run.processor - starting[name]) / run.tokens * 1e6 for run in found)
    return f"{precision}: " + "; ".join(
        [
            *(f"{name} {speed[name]:,.0f} tokens/s, {cost[name]:.1f} s of processor a million" for name in places),
            f"ray / one process {speed['ray'] / speed['one process']:.0%} by the clock, "
            f"{cost['one process'] / cost['ray']:.0%} by the processor",
        ]
    )


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
        (folder / "one.txt").write_text("One sentence .\n")
        with RayNodes(2) as cluster:
            for precision in given.precisions:
                say(compare(folder / "text.txt", folder / "one.txt", cluster, precision, given.rounds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
