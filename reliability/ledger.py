"""What all fuzz runs found so far, one JSON line for each batch of cases, and the table of it."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from pydantic import BaseModel

from reliability.forked import FAILURES, VERDICTS

COLUMNS = ("tried", *VERDICTS)


class Batch(BaseModel):
    """Some cases of a target, one after the other."""

    target: str
    seed: int
    first: int
    counts: dict[str, int]
    """How many had each verdict."""
    largest: int
    """The most memory that one of them took."""

    @property
    def tried(self) -> int:
        """How many cases there are."""
        return sum(self.counts.values())


def record(path: Path, batch: Batch) -> None:
    """Add a batch."""
    with path.open("a", encoding="utf-8") as file:
        file.write(batch.model_dump_json() + "\n")


def read(path: Path) -> list[Batch]:
    """All batches; none if there is no file yet."""
    if not path.exists():
        return []
    return [Batch.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def next_case(path: Path, target: str, seed: int) -> int:
    """The number of the first case of a target that no run with this seed has tried."""
    return max((one.first + one.tried for one in read(path) if (one.target, one.seed) == (target, seed)), default=0)


def take_failed(path: Path, targets: Collection[str], seed: int) -> list[Batch]:
    """Remove the batches of some targets in which something was found, and give them."""
    batches = read(path)
    failed = [
        one for one in batches if one.target in targets and one.seed == seed and any(map(one.counts.get, FAILURES))
    ]
    if failed:
        path.write_text("".join(one.model_dump_json() + "\n" for one in batches if one not in failed))
    return failed


def table(batches: Iterable[Batch]) -> str:
    """A Markdown table: how often each target was tried, and what came of it."""
    totals: dict[str, Counter[str]] = {}
    largest: Counter[str] = Counter()
    for batch in batches:
        totals.setdefault(batch.target, Counter()).update(batch.counts)
        largest[batch.target] = max(largest[batch.target], batch.largest)
    rows = [["target", *COLUMNS, "most memory"], ["---", *["---:"] * (len(COLUMNS) + 1)]]
    rows += [_row(name, counts, largest[name]) for name, counts in totals.items()]
    rows.append(_row("all", sum(totals.values(), Counter()), max(largest.values(), default=0)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(name: str, counts: Counter[str], largest: int) -> list[str]:
    numbers = [sum(counts.values()), *(counts[verdict] for verdict in VERDICTS)]
    return [name, *(f"{number:,}" for number in numbers), f"{largest >> 20} MiB"]
