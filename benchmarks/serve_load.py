"""Measures ``polyseme serve`` under load, against the same embedder without HTTP in the same run.

Run: python -m benchmarks.serve_load [MODEL] [--seconds 60] [--clients 64] [--overload 512] [--precision int8]

Clients are threads of wrk (Debian's package wrk) that send single sentences of natural length over loopback and get
base64. `Embedder.stream` runs before and after. Prints a table in Markdown and, as the last line, the figures in JSON.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.process import ROOT, say
from benchmarks.text import first_sentences
from polyseme import load
from polyseme.embed.source import VectorSource

_TICKS = os.sysconf("SC_CLK_TCK")
_STATUSES = (200, 429, 503, 504)
_LUA = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local at = 0
local threads = {}
function setup(thread)
  at = at + 1
  thread:set("start", at * 997)
  table.insert(threads, thread)
end
function init(args)
  at = start
  headers = {["content-type"] = "application/json"}
  s200, s429, s503, s504, other = 0, 0, 0, 0, 0
end
function request()
  at = at + 1
  return wrk.format("POST", "/v1/embeddings", headers, bodies[at % #bodies + 1])
end
function response(status)
  if status == 200 then s200 = s200 + 1 elseif status == 429 then s429 = s429 + 1
  elseif status == 503 then s503 = s503 + 1 elseif status == 504 then s504 = s504 + 1 else other = other + 1 end
end
function done(summary, latency, requests)
  local sums = {s200 = 0, s429 = 0, s503 = 0, s504 = 0, other = 0}
  for _, thread in ipairs(threads) do
    for name, _ in pairs(sums) do sums[name] = sums[name] + thread:get(name) end
  end
  local e = summary.errors
  io.write(string.format(
    "FIGURES %d %d %d %d %d %d %d %f %f %f\\n", sums.s200, sums.s429, sums.s503, sums.s504, sums.other,
    e.connect + e.read + e.write, e.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


@dataclass(frozen=True)
class Load:
    """What one load did."""

    clients: int
    answers: dict[str, int]
    socket_errors: int
    timeouts: int
    seconds: float
    tokens: int
    server_cpu: float
    p50_ms: float
    p99_ms: float
    peak_mib: float


def measure_load(address: str, process: int, script: Path, bodies: Path, clients: int, seconds: float) -> Load:
    """Send requests for some seconds."""
    tokens, cpu = _tokens(address), _cpu(process)
    threads = min(2, clients)
    done = subprocess.run(
        ["wrk", f"-t{threads}", f"-c{clients}", f"-d{seconds:g}s", "--timeout", "60s", "-s", str(script), address],
        env={**os.environ, "BODIES": str(bodies)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"^FIGURES (.+)$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"wrk gave no figures: {done.stdout}{done.stderr}")
    *counts, took, p50, p99 = found[1].split()
    numbers = [int(count) for count in counts]
    return Load(
        clients=clients,
        answers={str(name): count for name, count in zip((*_STATUSES, "other"), numbers, strict=False) if count},
        socket_errors=numbers[5],
        timeouts=numbers[6],
        seconds=float(took),
        tokens=_tokens(address) - tokens,
        server_cpu=_cpu(process) - cpu,
        p50_ms=float(p50),
        p99_ms=float(p99),
        peak_mib=_peak(process),
    )


def measure_stream(source: VectorSource, sentences: list[list[str]], seconds: float) -> tuple[float, float]:
    """Tokens per processor second and per second without HTTP."""
    tokens, cpu, clock = 0, time.process_time(), time.perf_counter()
    while time.perf_counter() - clock < seconds:
        for sentence, _ in zip(sentences, source.stream(sentences, layers="mean"), strict=True):
            tokens += len(sentence)
    return tokens / (time.process_time() - cpu), tokens / (time.perf_counter() - clock)


@contextmanager
def serving(model: str, precision: str, *options: str) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address and the id of the process."""
    command = [sys.executable, "-m", "polyseme", "serve", model, "--precision", precision, "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.search(r"http://\S+?(?=;)", process.stderr.readline())
        assert address
        while "is ready" not in (line := process.stderr.readline()):
            if not line:
                raise SystemExit("the server ended before it was ready")
        try:
            yield address[0], process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="english-small")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--overload", type=int, default=512, help="clients that are too many; 0 to leave this out")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--sentences", type=int, default=4000)
    parser.add_argument("--options", default="", help="more options of polyseme serve")
    chosen = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed; apt-get install wrk")
    text = first_sentences(chosen.sentences).read_text(encoding="utf-8").splitlines()
    source = load(chosen.model, precision=chosen.precision)
    sentences = [tokens for line in text if (tokens := line.split())]
    with tempfile.TemporaryDirectory() as folder:
        script, bodies = Path(folder) / "load.lua", Path(folder) / "bodies"
        script.write_text(_LUA, encoding="utf-8")
        requests = ({"input": [tokens], "encoding_format": "base64"} for tokens in sentences)
        bodies.write_text("".join(json.dumps(one) + "\n" for one in requests), encoding="utf-8")
        source.embed(sentences[:200], layers="mean")
        before = measure_stream(source, sentences, chosen.seconds / 4)
        with serving(chosen.model, chosen.precision, *chosen.options.split()) as (address, process):
            measure_load(address, process, script, bodies, chosen.clients, 2)  # warm
            load_figures = measure_load(address, process, script, bodies, chosen.clients, chosen.seconds)
            over = measure_over(address, process, script, bodies, chosen.overload, chosen.seconds / 4)
        after = measure_stream(source, sentences, chosen.seconds / 4)
    report(load_figures, over, (before[0] + after[0]) / 2, (before[1] + after[1]) / 2)


def measure_over(
    address: str, process: int, script: Path, bodies: Path, clients: int, seconds: float
) -> tuple[Load, Load] | None:
    """Too many clients, and a few right after them."""
    if not clients:
        return None
    over = measure_load(address, process, script, bodies, clients, seconds)
    return over, measure_load(address, process, script, bodies, 8, 2)


def report(load_figures: Load, over: tuple[Load, Load] | None, stream_cpu: float, stream_wall: float) -> None:
    """Print what was measured."""
    per_cpu = load_figures.tokens / load_figures.server_cpu
    per_second = load_figures.tokens / load_figures.seconds
    say("| | server | Embedder.stream | share |\n|---|---|---|---|")
    say(f"| tokens per processor second | {per_cpu:,.0f} | {stream_cpu:,.0f} | {per_cpu / stream_cpu:.0%} |")
    say(f"| tokens per second | {per_second:,.0f} | {stream_wall:,.0f} | {per_second / stream_wall:.0%} |")
    say()
    say("| clients | answers | socket errors, timeouts | p50 ms | p99 ms | peak MiB |\n|---|---|---|---|---|---|")
    for one in (load_figures, *(over or ())):
        answers = ", ".join(f"{count:,} x {status}" for status, count in one.answers.items())
        say(
            f"| {one.clients} | {answers} | {one.socket_errors}, {one.timeouts} | {one.p50_ms:.1f} | {one.p99_ms:.1f} "
            f"| {one.peak_mib:,.0f} |"
        )
    say()
    figures = {"load": asdict(load_figures), "stream_cpu": stream_cpu, "stream_wall": stream_wall}
    say(json.dumps({**figures, "overload": [asdict(one) for one in over or ()]}))


def _tokens(address: str) -> int:
    with urllib.request.urlopen(f"{address}/metrics") as answer:
        found = re.search(rb"^polyseme_tokens_total (\d+)", answer.read(), re.MULTILINE)
    assert found
    return int(found[1])


def _cpu(process: int) -> float:
    """Processor seconds of a process so far, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _peak(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    main()
