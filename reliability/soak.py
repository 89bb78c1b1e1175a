"""Lets processes work for an hour and watches their memory, open files and threads.

Run: python -m reliability.soak [--minutes 60] [--pause 0.2] [--folder soak-output]

Three processes, each doing one thing again and again: embedding a text into a file, querying an index, and training a
small model. What each takes is noted every few seconds and drawn in FOLDER/soak.png, the most of each minute. A process
fails if it mostly has more threads or open files in the last quarter than it ever had in the second, when it opens and
closes its files as at the end, or if its memory has grown by a tenth and 16 MiB.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from reliability.server import say

WORK = ("embed", "query", "train")
FIGURES = {"memory": "MiB", "files": "open files", "threads": "threads"}
_SLACK, _SLACK_SHARE = 16.0, 1.1


def work(kind: str, folder: Path, pause: float) -> None:
    """Do one thing again and again, until the process is ended."""
    from polyseme import load
    from polyseme.embed.job import embed_corpus
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.progress import Watcher
    from polyseme.text.corpus import Corpus
    from polyseme.train.lm.run import train
    from reliability.good_models import write_text
    from reliability.targets.runs import LM

    text = write_text(folder / f"{kind}.txt", 200)
    corpus, source = Corpus([text], tokenize="none"), load("english-small")
    index = OccurrenceIndex.build(source, corpus, folder / "index") if kind == "query" else None
    while True:
        if index is not None:
            index.nearest("He sat on the [bank].", k=5, words="other")
            index.similar("bank", least=1)
        elif kind == "embed":
            embed_corpus(source, corpus, folder / "out.h5", overwrite=True)
        else:
            shutil.rmtree(folder / "model", ignore_errors=True)
            train(text, folder / "model", watcher=Watcher(), **LM)
        time.sleep(pause)


def measure(process: int) -> dict[str, float]:
    """What a process takes now."""
    place = Path("/proc", str(process))
    resident = int((place / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    counts = {name: len(list((place / part).iterdir())) for name, part in (("files", "fd"), ("threads", "task"))}
    return {"memory": resident / 2**20, **counts}


def watch(processes: dict[str, int], minutes: float, every: float) -> list[dict[str, object]]:
    """What each process took, every few seconds."""
    begun, records = time.monotonic(), []
    while (elapsed := time.monotonic() - begun) < 60 * minutes:
        for kind, process in processes.items():
            records.append({"kind": kind, "minute": elapsed / 60, **measure(process)})
        time.sleep(every)
    return records


def grown(records: list[dict[str, object]]) -> list[str]:
    """What is higher in the last quarter than in the second one."""
    found = []
    for kind in WORK:
        own = [record for record in records if record["kind"] == kind]
        quarter = len(own) // 4
        for name in FIGURES:
            values = [float(str(record[name])) for record in own]
            second, after = values[quarter : 2 * quarter], statistics.median(values[-quarter:])
            before = statistics.median(second)
            most = before * _SLACK_SHARE + _SLACK if name == "memory" else max(second)
            say(f"| {kind} | {FIGURES[name]} | {before:.0f} | {after:.0f} |")
            if after > most:
                found.append(f"{kind}: {FIGURES[name]} rose from {before:.0f} to {after:.0f}")
    return found


def draw(records: list[dict[str, object]], path: Path) -> None:
    """A picture of all figures over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    for place, (name, label) in zip(figure.subplots(1, len(FIGURES)), FIGURES.items(), strict=True):
        for kind in WORK:
            own = [record for record in records if record["kind"] == kind]
            most: dict[int, float] = {}
            for record in own:
                minute = int(float(str(record["minute"])))
                most[minute] = max(most.get(minute, 0.0), float(str(record[name])))
            place.plot([*most], [*most.values()], label=kind)
        place.set(xlabel="minutes", ylabel=label)
        place.set_ylim(bottom=0)
    place.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Watch and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between two rounds of work")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two notes")
    parser.add_argument("--folder", type=Path, default=Path("soak-output"))
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    if chosen.work:
        work(chosen.work, folder, chosen.pause)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "reliability.soak", f"--folder={folder}", f"--pause={chosen.pause}"]
    started = {kind: subprocess.Popen([*command, f"--work={kind}"]) for kind in WORK}
    try:
        records = watch({kind: one.pid for kind, one in started.items()}, chosen.minutes, chosen.every)
        stopped = [kind for kind, one in started.items() if one.poll() is not None]
    finally:
        for one in started.values():
            one.send_signal(signal.SIGKILL)
            one.wait()
    (folder / "soak.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    say("| process | figure | second quarter | last quarter |\n| --- | --- | ---: | ---: |")
    problems = [*grown(records), *(f"{kind}: ended by itself" for kind in stopped)]
    draw(records, folder / "soak.png")
    for problem in problems:
        say(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
