"""The whole command ``polyseme embed`` on raw text against ``Embedder.stream`` on the same tokens, in int8.

``python -m benchmarks.embed_speed`` prints a table. Every leg is a new process, and they take turns: the stream, whose
vectors are dropped, on tokens that are in memory; then the command to each format, all layers in float32. The command's
time is its own figure, from its first look at the text until the file has its name and is on the disk; what it takes
before that (Python, imports, the model) is shown apart.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.process import say
from benchmarks.text import WIKITEXT
from polyseme.text.corpus import Corpus

FORMATS = (".h5", ".parquet", ".npz")
_STREAM = """
import json, sys, time
from polyseme import load
embedder = load(sys.argv[2], precision="int8")
sentences = embedder.tokenize(open(sys.argv[1], encoding="utf-8").read())
begun = time.monotonic()
tokens = sum(vectors.shape[1] for vectors in embedder.stream(sentences))
print(json.dumps({"tokens": tokens, "seconds": time.monotonic() - begun}))
"""


def raw_text(path: Path, characters: int) -> None:
    """Write the beginning of WikiText-2, which is raw text, whole lines."""
    if not WIKITEXT.exists():
        raise SystemExit(f"{WIKITEXT}: missing; give --text with a file of raw text")
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for sentence in Corpus([WIKITEXT], tokenize="none").nonempty():
            line = " ".join(sentence.tokens)
            file.write(line + "\n")
            size += len(line)
            if size >= characters:
                break


def leg(command: Sequence[str]) -> tuple[float, float, int]:
    """Run a process that prints its tokens and seconds; gives tokens per second, seconds before that, and tokens."""
    begun = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["tokens"] / found["seconds"], time.monotonic() - begun - found["seconds"], found["tokens"]


def measure(text: Path, model: str, formats: Sequence[str], rounds: int, folder: Path) -> None:
    """Print tokens per second, medians of the rounds."""
    stream = [sys.executable, "-c", _STREAM, str(text), model]
    speeds: dict[str, list[float]] = {"stream": [], **{suffix: [] for suffix in formats}}
    starts: list[float] = []
    tokens = set()
    for number in range(rounds):
        for name, found in speeds.items():
            output = folder / f"out{name}"
            options = ["-m", model, "-o", str(output), "--precision", "int8", "--progress", "none", "--json"]
            command = [sys.executable, "-m", "polyseme", "embed", str(text), *options]
            speed, start, count = leg(stream if name == "stream" else command)
            found.append(speed)
            tokens.add(count)
            if name != "stream":
                starts.append(start)
                output.unlink()
        say(f"round {number + 1}: " + ", ".join(f"{name} {found[-1]:,.0f}" for name, found in speeds.items()))
    if len(tokens) > 1:
        raise SystemExit(f"the legs embedded different numbers of tokens: {sorted(tokens)}")
    base = median(speeds["stream"])
    say(f"{tokens.pop():,} tokens, {rounds} rounds, {model}; start-up of the command {median(starts):.1f} s")
    say("\n| | tokens/s | of the stream |\n| --- | ---: | ---: |")
    for name, found in speeds.items():
        say(f"| {name} | {median(found):,.0f} | {median(found) / base:.0%} |")


def main() -> None:
    """Parse and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--characters", type=int, default=4_000_000, help="of WikiText-2")
    parser.add_argument("--text", type=Path, help="raw text to use instead")
    parser.add_argument("--model", default="english-small")
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--folder", type=Path, help="where to write, on the disk to be measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        text = given.text or Path(folder, "text.txt")
        if given.text is None:
            raw_text(text, given.characters)
        measure(text, given.model, given.format or FORMATS, given.rounds, Path(folder))


if __name__ == "__main__":
    main()
