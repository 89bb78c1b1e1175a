"""Kills runs, fills their disk, starts them twice and moves their clock, and compares what they make in the end.

Run: python -m reliability.crash [--kills 50] [--faults 10] [--seed 0] [--job NAME] [--folder crash-output]

Each run is a fork of this process. After each fault it is continued until it ends, as its messages advise; the result
must be, byte by byte, that of a run that was left alone, and nothing else may be left behind.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from polyseme.errors import OutputError, PolysemeError
from reliability.jobs import JOBS, Job, prepare
from reliability.server import begin_again, say, warm_up

_PREPARING = "import sys; from reliability.crash import make_expected; make_expected(sys.argv[1])"
_SECONDS = 600.0
REFUSED = 3
"""The exit code of a run that ended with one clear line."""


class Failed(Exception):  # noqa: N818 - it says what happened
    """A run did not make what it should."""


def make_expected(place: str) -> None:
    """Make the data and, in a process of its own, what every job gives if it is left alone."""
    import torch

    torch.set_num_threads(1)
    folder = Path(place)
    shutil.rmtree(folder, ignore_errors=True)
    prepare(folder / "data")
    for job in JOBS:
        target = folder / "expected" / job.name
        target.mkdir(parents=True)
        if job.base:
            job.base(folder / "data", target / job.output)
            shutil.copytree(target, folder / "base" / job.name)
        job.run(folder / "data", target / job.output)
    (folder / "modules.json").write_text(json.dumps(sorted(sys.modules)))


class Bench:
    """Runs one job again and again in a place of its own."""

    def __init__(self, folder: Path, job: Job, draw: random.Random) -> None:
        self.folder, self.job, self.draw = folder, job, draw
        self.output = folder / "work" / job.name / job.output
        self.messages = folder / "work" / f"{job.name}.said"
        self.expected = job.result(folder / "expected" / job.name / job.output)
        self.fresh()
        begun = time.monotonic()
        self.finish()
        self.seconds = time.monotonic() - begun

    def fresh(self) -> None:
        """Begin with an empty place, or with what the job adds to."""
        shutil.rmtree(self.output.parent, ignore_errors=True)
        if self.job.base:
            shutil.copytree(self.folder / "base" / self.job.name, self.output.parent)
        else:
            self.output.parent.mkdir(parents=True)

    def start(self, before: Callable[[], object] = lambda: None) -> int:
        """Start the job in a fork; gives its process id."""
        child = os.fork()
        if child:
            return child
        code, said = 1, ""
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            before()
            self.job.run(self.folder / "data", self.output)
            code = 0
        except PolysemeError as error:
            said = f"{type(error).__name__}: {error}"
            code = REFUSED if "\n" not in said else 1
        except BaseException:
            said = traceback.format_exc()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.messages.write_text(said)
            os._exit(code)

    def end(self, child: int) -> int:
        """Wait for a run; gives how it ended."""
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise Failed(f"did not end within {_SECONDS:.0f} s")

    def said(self) -> str:
        """The last line of the last run."""
        lines = self.messages.read_text().strip().splitlines()
        return lines[-1] if lines else ""

    def finish(self) -> None:
        """Continue the job to its end and compare."""
        if code := self.end(self.start()):
            raise Failed(f"continuing it ended with {code}: {self.said()}")
        found = self.job.result(self.output)
        differing = sorted(
            name for name in {*found, *self.expected} if found.get(name, b"-") != self.expected.get(name, b"-")
        )
        if differing:
            raise Failed(f"the result differs in {', '.join(differing[:5])}")
        if left := self.job.left(self.output):
            raise Failed(f"left behind: {', '.join(left)}")


def kill(bench: Bench) -> str:
    """SIGKILL at a random moment, sometimes once more while it is continued."""
    bench.fresh()
    found = ""
    for _ in range(bench.draw.choice((1, 1, 1, 2, 3))):
        child = bench.start()
        time.sleep(bench.draw.uniform(0, bench.seconds))
        os.kill(child, signal.SIGKILL)
        if bench.end(child) == -signal.SIGKILL:
            found = "killed"
    bench.finish()
    return found or "finished before"


def full_disk(bench: Bench) -> str:
    """No file may grow beyond a size that some of them reach."""
    bench.fresh()
    largest = max((path.stat().st_size for path in bench.output.parents[2].rglob("expected/**/*")), default=1)
    limit = int(largest ** bench.draw.random())

    def before() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails with "File too large", as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    code = bench.end(bench.start(before))
    if code == REFUSED and not bench.said().startswith(OutputError.__name__):
        raise Failed(f"a full disk is called {bench.said()}")
    if code not in (0, REFUSED):
        raise Failed(f"a full disk ended it with {code}: {bench.said()}")
    bench.finish()
    return "refused" if code else "enough room"


def two_writers(bench: Bench) -> str:
    """A second run for the same output, begun while the first one works."""
    bench.fresh()
    first = bench.start()
    time.sleep(bench.draw.uniform(0, bench.seconds))
    second = bench.end(bench.start())
    said = bench.said()
    if second not in (0, REFUSED):
        bench.end(first)
        raise Failed(f"the second run ended with {second}: {said}")
    if (code := bench.end(first)) not in (0, REFUSED):
        raise Failed(f"the first run ended with {code}: {bench.said()}")
    bench.finish()
    return "second refused" if second else "one after the other"


def clock_jumps(bench: Bench) -> str:
    """The clock jumps by days while it runs, and the files of the killed run get dates of any year."""
    bench.fresh()

    def before() -> None:
        real = time.time
        time.time = lambda: real() + random.uniform(-1e8, 1e8)

    child = bench.start(before)
    time.sleep(bench.draw.uniform(0, bench.seconds))
    os.kill(child, signal.SIGKILL)
    bench.end(child)
    for path in bench.output.parent.rglob("*"):
        when = bench.draw.uniform(0, 4e9)
        os.utime(path, (when, when))
    bench.finish()
    return "continued"


FAULTS: dict[str, Callable[[Bench], str]] = {
    "kill": kill,
    "full disk": full_disk,
    "two writers": two_writers,
    "clock": clock_jumps,
}


def tried(bench: Bench, fault: str, times: int) -> Counter[str]:
    """Try a fault until it happened that many times; gives what was found."""
    found: Counter[str] = Counter()
    while sum(found.values()) < times or (fault == "kill" and found["killed"] + found["failed"] < times):
        try:
            found[FAULTS[fault](bench)] += 1
        except Failed as error:
            found["failed"] += 1
            kept = bench.folder / "found" / f"{bench.job.name}-{fault.replace(' ', '-')}-{sum(found.values())}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(bench.output.parent, kept, symlinks=True)
            shutil.copy(bench.messages, kept.with_suffix(".said"))
            say(f"{bench.job.name}, {fault}: {error}")
    return found


def main() -> None:
    """Break runs and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="kills of each job")
    parser.add_argument("--faults", type=int, default=10, help="how often each of the other faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--job", action="append", choices=[job.name for job in JOBS])
    parser.add_argument("--folder", type=Path, default=Path("crash-output"))
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    subprocess.run([sys.executable, "-c", _PREPARING, str(folder)], check=True)
    warm_up(json.loads((folder / "modules.json").read_text()))
    failed = 0
    say("| job | fault | times | outcome |\n| --- | --- | ---: | --- |")
    for job in JOBS:
        if chosen.job and job.name not in chosen.job:
            continue
        for fault in FAULTS:
            bench = Bench(folder, job, random.Random(f"{job.name}:{fault}:{chosen.seed}"))
            found = tried(bench, fault, chosen.kills if fault == "kill" else chosen.faults)
            failed += found["failed"]
            outcome = ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
            say(f"| {job.name} | {fault} | {sum(found.values())} | {outcome} |")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    begin_again("reliability.crash")
    main()
