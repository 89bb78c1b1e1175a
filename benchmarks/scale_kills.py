"""Kills an actor, a node and the driver of ``polyseme embed --engine ray`` at random moments, and compares the results.

``make scale-kills`` runs it: two Ray nodes on this machine, and for each of the three a number of runs of one text.
Every result must have the parts of an undisturbed run, equal to the last byte, and that run the vectors of the ordinary
command.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.process import say
from benchmarks.ray_nodes import RayNodes
from polyseme.text.corpus import Corpus

POLYSEME = str(Path(sys.executable).with_name("polyseme"))
KINDS = ("actor", "node", "driver")


class Runs:
    """Runs of one text on one cluster."""

    def __init__(self, cluster: RayNodes, text: Path, folder: Path, options: list[str]) -> None:
        self._cluster, self._text, self._folder, self._options = cluster, text, folder, options

    def start(self, output: Path, *more: str) -> "subprocess.Popen[bytes]":
        """Start the command in the background."""
        ray = ["--engine", "ray", "--address", self._cluster.address, "--part-bytes", "16384"]
        with (self._folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                [POLYSEME, "embed", str(self._text), "-o", str(output), *self._options, *ray, *more],
                env=self._cluster.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def whole(self, output: Path, *more: str) -> float:
        """Run the command to its end; returns the seconds from its first part on."""
        process = self.start(output, *more)
        self.wait_for_parts(output, process)
        begun = time.monotonic()
        self.finish(process)
        return time.monotonic() - begun

    def wait_for_parts(self, output: Path, process: "subprocess.Popen[bytes]") -> None:
        """Wait until workers embed."""
        parts = output.with_name(output.name + ".partial") / "parts"
        while process.poll() is None and not (parts.is_dir() and self._cluster.actors()):
            time.sleep(0.02)

    def finish(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the end of a run that must succeed."""
        if process.wait() != 0:
            raise RuntimeError(f"the command failed: {(self._folder / 'log.txt').read_text()[-3000:]}")

    def disturbed(self, kind: str, output: Path, seconds: float) -> bool:
        """Run with one kill after some seconds; false if the run was over before."""
        process = self.start(output)
        self.wait_for_parts(output, process)
        time.sleep(seconds)
        in_time = process.poll() is None
        if kind == "driver":
            process.kill()
            process.wait()
            if not output.exists():
                self.finish(self.start(output, "--resume"))
            return in_time
        if kind == "node":
            self._cluster.kill_node(1)
        elif actors := self._cluster.actors():
            os.kill(random.choice(actors), signal.SIGKILL)
        self.finish(process)
        if kind == "node":
            self._cluster.revive_node(1)
        return in_time


def digests(output: Path) -> dict[str, str]:
    """The content of every file, by name, and nothing of the times in them."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(output.iterdir())}


def same_as_one_process(output: Path, whole: Path) -> bool:
    """Whether the parts have the rows of the file that the ordinary command wrote, to the last bit."""
    manifest = json.loads((output / "_manifest.json").read_text())
    tables = []
    for part in manifest["parts"]:
        table = pq.read_table(output / part["name"])
        numbers = pa.array(table["sentence"].to_numpy() + part["first_sentence"])
        table = table.set_column(table.schema.get_field_index("sentence"), "sentence", numbers)
        tables.append(table.select(["sentence", "position", "token", "vector"]))
    wanted = pq.read_table(whole).select(["sentence", "position", "token", "vector"])
    return bool(pa.concat_tables(tables).combine_chunks().equals(wanted.cast(tables[0].schema).combine_chunks()))


def main() -> None:
    """Run all and print one line for each kind, and the moments as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+", help="Text of at least that many sentences.")
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=10, help="Of each kind.")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--model", default="english-small")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random.seed(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="polyseme-kills-"))
    text = folder / "text.txt"
    sentences = islice((one.tokens for one in Corpus(given.text, tokenize="en") if one.tokens), given.sentences)
    text.write_text("".join(" ".join(tokens) + "\n" for tokens in sentences))
    options = ["-m", given.model, "--layers", "mean", "--tokenize", "none"]
    whole = folder / "whole.parquet"
    subprocess.run([POLYSEME, "embed", str(text), "-o", str(whole), *options], check=True)
    with RayNodes(2) as cluster:
        runs = Runs(cluster, text, folder, options)
        seconds = runs.whole(folder / "undisturbed")
        wanted = digests(folder / "undisturbed")
        equal = same_as_one_process(folder / "undisturbed", whole)
        say(f"undisturbed: {len(wanted) - 1} parts, {seconds:.1f} s, equal to one process: {equal}")
        failed = not equal
        for kind in given.kinds:
            moments = sorted(random.uniform(0, seconds) for _ in range(given.kills))
            good = in_time = 0
            for number, moment in enumerate(moments):
                output = folder / f"{kind}-{number}"
                in_time += runs.disturbed(kind, output, moment)
                same = digests(output) == wanted and not output.with_name(output.name + ".partial").exists()
                good += same
                say(f"  {kind} killed after {moment:.1f} s: {'equal' if same else 'DIFFERENT'}")
                shutil.rmtree(output)
            say(f"{kind}: {good} of {len(moments)} equal and complete, {in_time} killed before the end")
            failed |= good < len(moments)
    if failed:
        sys.exit(f"results differ; see {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
