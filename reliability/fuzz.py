"""Opens damaged and crafted files, each in a process of its own, and counts what becomes of them.

Run: python -m reliability.fuzz [--minutes 10] [--seed 0] [--target NAME] [--cases N] [--folder fuzz-output]
     python -m reliability.fuzz --replay "NAME:SEED:CASE"

A case is known by its target, the seed and its number: with the same three it is the same again. A run goes on after
the cases that earlier runs with this seed have tried, target by target in turn, until the time is over. Files that made
something else than one clear line, a hang, or too much memory are kept in FOLDER/found with what happened. FOLDER holds
also cases.jsonl, from which the table of all runs is made. Leaves with exit code 1 if anything was found.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import get_args

from polyseme.errors import PolysemeError
from reliability import ledger
from reliability.forked import FAILURES, Outcome, run_case
from reliability.sanitizers import environment
from reliability.server import begin_again, say, warm_up
from reliability.target import ServerName, Target
from reliability.targets import all_targets

BATCH = 50
"""Cases of a target before the next target has its turn."""
_MODULES = "modules.json"
"""What is imported when good files are used."""
_MAKING = "import sys; from reliability.fuzz import make_good; make_good(*sys.argv[1:])"


def make_good(folder: str, server: ServerName, *names: str) -> None:
    """Write the good files of targets and see that they are accepted.

    Called in a process of its own, since it may start threads.
    """
    targets = all_targets(server)
    for name in names:
        target = targets[name]
        place = Path(folder, target.folder)
        case = place / "case"
        shutil.rmtree(place, ignore_errors=True)
        case.mkdir(parents=True)
        # Made where the cases are going to be, since some of the files name others by their paths.
        target.make(case)
        shutil.copytree(case, place / "made", symlinks=True)
        try:
            target.attempt(case)
        except PolysemeError as error:
            raise RuntimeError(f"{name}: the good files are refused: {error}") from error
        (place / _MODULES).write_text(json.dumps(sorted(sys.modules)))
        (place / "made").rename(place / "good")


class Server:
    """Tries cases and writes down what became of them."""

    def __init__(self, folder: Path, seed: int, kind: ServerName) -> None:
        self.folder, self.seed, self.kind = folder, seed, kind
        self.ledger = folder / "cases.jsonl"
        self.work = folder / "work"
        self.failures = 0

    def prepare(self, targets: list[Target]) -> None:
        """Make the good files of targets that have none yet, and load what using them needs."""
        if missing := [one.name for one in targets if not (self.work / one.folder / "good").exists()]:
            subprocess.run([sys.executable, "-c", _MAKING, str(self.work), self.kind, *missing], check=True)
        places = [self.work / one.folder / _MODULES for one in targets]
        warm_up(sorted({name for place in places for name in json.loads(place.read_text())}), self.kind)

    def batch(self, target: Target, count: int, first: int | None = None) -> None:
        """Try the next cases of a target, or those from a number on."""
        place, counts, largest = self.work / target.folder, Counter[str](), 0
        if first is None:
            first = ledger.next_case(self.ledger, target.name, self.seed)
        for case in range(first, first + count):
            outcome = run_case(target, place / "good", place / "case", self.seed, case)
            counts[outcome.verdict] += 1
            largest = max(largest, outcome.taken)
            if outcome.verdict in FAILURES:
                self.keep(target, place / "case", case, outcome)
        made = ledger.Batch(target=target.name, seed=self.seed, first=first, counts=counts, largest=largest)
        ledger.record(self.ledger, made)

    def retry(self, targets: list[Target]) -> None:
        """Try the cases of all batches once more in which something was found."""
        names = {target.name: target for target in targets}
        for line in ledger.take_failed(self.ledger, names, self.seed):
            self.batch(names[line.target], line.tried, line.first)

    def keep(self, target: Target, folder: Path, case: int, outcome: Outcome) -> None:
        """Keep the files of a case that failed, and what happened."""
        self.failures += 1
        kept = self.folder / "found" / f"{folder.parent.name}-{self.seed}-{case}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        if folder.exists():
            shutil.copytree(folder, kept / "files", symlinks=True)
        (kept / "outcome.txt").write_text(f"{outcome.verdict}\n{outcome.said}\n", encoding="utf-8", errors="replace")
        last = outcome.said.strip().splitlines()[-1:] or [""]
        say(f"{target.name}:{self.seed}:{case}: {outcome.verdict}: {last[0][:200]}")


def fuzz(server: Server, targets: list[Target], *, minutes: float, cases: int | None) -> None:
    """Try targets in turn until the time is over, or until all runs have tried each of them ``cases`` times."""
    until, left = time.monotonic() + 60 * minutes, list(targets)
    while left and time.monotonic() < until:
        target = left.pop(0)
        first = ledger.next_case(server.ledger, target.name, server.seed)
        count = BATCH if cases is None else min(BATCH, cases - first)
        if count > 0:
            server.batch(target, count, first)
            left.append(target)


def _elsewhere(kind: ServerName, folder: Path, arguments: list[str]) -> int:
    """Run the same command in a process that is another kind of server."""
    command = [sys.executable, "-m", "reliability.fuzz", f"--server={kind}", *arguments]
    inner = environment(folder / "sanitized") if kind == "sanitized" else None
    return subprocess.run(command, env=inner, check=False).returncode


def main() -> None:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; with --cases, at most")
    parser.add_argument("--cases", type=int, help="how many of each target, together with earlier runs of this seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", help="only targets whose name contains this")
    parser.add_argument("--folder", type=Path, default=Path("fuzz-output"))
    parser.add_argument("--replay", help="TARGET:SEED:CASE: try one case again and print what happens")
    parser.add_argument("--retry", action="store_true", help="only try again what was found before with this seed")
    parser.add_argument("--table", action="store_true", help="only print the table of all runs so far")
    parser.add_argument("--server", choices=get_args(ServerName), help="only targets of one kind of server")
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    found = all_targets(chosen.server or "whole")
    if chosen.replay:
        name, seed, case = chosen.replay.rsplit(":", 2)
        sys.exit(replay(Server(folder, int(seed), chosen.server), found[name], int(case)))
    wanted = [one for one in found.values() if not chosen.target or any(part in one.name for part in chosen.target)]
    code = 0
    if chosen.server:
        server = Server(folder, chosen.seed, chosen.server)
        code = serve(server, [one for one in wanted if one.server == chosen.server], chosen)
    elif not chosen.table:
        arguments = ["--seed", str(chosen.seed), "--folder", str(folder), *(["--retry"] if chosen.retry else [])]
        arguments += [f"--cases={chosen.cases}"] * bool(chosen.cases)
        arguments += [f"--target={part}" for part in chosen.target or ()]
        for kind, count in Counter(one.server for one in wanted).items():
            share = chosen.minutes * count / len(wanted)
            code = max(code, _elsewhere(kind, folder, [*arguments, f"--minutes={share}"]))
    if not chosen.server:
        say(ledger.table(ledger.read(folder / "cases.jsonl")))
    sys.exit(code)


def serve(server: Server, targets: list[Target], chosen: argparse.Namespace) -> int:
    """Try the targets of this kind of server; gives the exit code."""
    server.prepare(targets)
    if chosen.retry:
        server.retry(targets)
    else:
        fuzz(server, targets, minutes=chosen.minutes, cases=chosen.cases)
    return 1 if server.failures else 0


def replay(server: Server, target: Target, case: int) -> int:
    """Try one case again, in a fork as before."""
    if server.kind != target.server:
        what = f"--replay={target.name}:{server.seed}:{case}"
        return _elsewhere(target.server, server.folder, ["--folder", str(server.folder), what])
    server.prepare([target])
    place = server.work / target.folder
    outcome = run_case(target, place / "good", place / "case", server.seed, case)
    say(f"{outcome.verdict}, {outcome.taken:,} bytes for files of {outcome.size:,} in {place / 'case'}\n{outcome.said}")
    return 1 if outcome.verdict in FAILURES else 0


if __name__ == "__main__":
    begin_again("reliability.fuzz")
    main()
