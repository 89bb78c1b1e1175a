"""What is told of a job while it runs, and what it has done in the end."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from polyseme.embed.stored_parts import read_manifest
from polyseme.embed.vectors_record import PartRecord
from polyseme.files.location import Location
from polyseme.files.whole import JSON
from polyseme.progress import Figure, TokenCounter, Watcher
from polyseme.scale.output import PartsFolder
from polyseme.scale.parts import Part
from polyseme.scale.worker import Ready
from polyseme.text.repairs import Repairs


@dataclass(frozen=True, kw_only=True)
class ScaleResult:
    """What `EmbedJob.run` did.

    Attributes:
        output: The folder of parts.
        parts: How many parts it has.
        parts_before: How many of them an interrupted run had made before.
        sentences: How many sentences all parts have.
        tokens: How many tokens all parts have.
        tokens_now: How many of them this run embedded.
        seconds: How long this run took.
        seconds_starting: How much of that passed before the first worker was ready.
        instruction_sets: How many parts each instruction set computed.
        repairs: What was replaced in the text, and what is odd in it.
    """

    output: str
    parts: int
    parts_before: int
    sentences: int
    tokens: int
    tokens_now: int
    seconds: float
    seconds_starting: float
    instruction_sets: dict[str, int]
    repairs: Repairs

    def to_dict(self) -> dict[str, JSON]:
        """The result as JSON values."""
        found: dict[str, JSON] = {name: value for name, value in asdict(self).items() if name != "repairs"}
        seconds = {name: round(getattr(self, name), 3) for name in ("seconds", "seconds_starting")}
        return {**found, **seconds, "replaced": self.repairs.invalid + self.repairs.nulls}


class Report:
    """Follows a job: keeps the records of complete parts, and tells a watcher.

    Args:
        watcher: Is told.
        parts: All parts of the job.
        folder: Where they go.
        output: As the user named it.
        resume: Whether the user asked to continue a run.

    Attributes:
        records: Of the complete parts, by name.
        text: The input, for messages.
    """

    def __init__(
        self, watcher: Watcher, parts: Sequence[Part], folder: PartsFolder, *, output: str, resume: bool
    ) -> None:
        self._watcher, self._folder, self._output = watcher, folder, output
        self._begun, self._ready_at = time.monotonic(), float("nan")
        done = read_manifest(Location.of(output)).parts if folder.complete else folder.done(parts)
        self.records: dict[str, PartRecord] = {record.name: record for record in done}
        self._before = len(self.records)
        self._count = len(parts)
        self._bytes = {part.name: part.stop - part.start for part in parts}
        self._left = self._all = sum(self._bytes[name] for name in self._bytes.keys() - self.records.keys())
        self._tokens_now = 0
        self._sets: set[str] = {record.instruction_set for record in done}
        files = list(dict.fromkeys(part.file.location.shown for part in parts))
        self.text = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1:,} more"
        self._counter: TokenCounter | None = None
        self._workers = 0
        self._tell_beginning(resume=resume)

    def joined(self, ready: Ready) -> None:
        """A worker is ready."""
        if self._counter is None:
            self._ready_at = time.monotonic()
            self._counter = TokenCounter(self._watcher, f"embedding {self.text}")
        self._see(ready.instruction_set)
        self._workers += 1

    def finished(self, record: PartRecord) -> None:
        """A part is complete."""
        self.records[record.name] = record
        self._tokens_now += record.tokens
        self._left -= self._bytes[record.name]
        if self._counter is not None:
            share = 1 - self._left / self._all if self._all else 1.0
            figures: dict[str, Figure] = {"parts": f"{len(self.records):,}/{self._count:,}", "workers": self._workers}
            self._counter.add(record.tokens, share, **figures)

    def lost(self, what: str) -> None:
        """A worker is lost, or a part has to be done again."""
        self._watcher.note(what)

    def kept(self) -> str:
        """What an interrupted run leaves."""
        many = f"{len(self.records):,} of {self._count:,} parts"
        return f"{many} are complete in {self._folder.kept}; continue with --resume"

    def result(self, seconds: float) -> ScaleResult:
        """What the job did."""
        records = self.records.values()
        starting = self._ready_at - self._begun if self._counter is not None else seconds
        result = ScaleResult(
            output=self._output,
            parts=len(records),
            parts_before=self._before,
            sentences=sum(record.sentences for record in records),
            tokens=sum(record.tokens for record in records),
            tokens_now=self._tokens_now,
            seconds=seconds,
            seconds_starting=starting,
            instruction_sets=dict(Counter(record.instruction_set for record in records)),
            repairs=_together(records),
        )
        figures: dict[str, Figure] = {"sentences": result.sentences, "tokens": result.tokens, "parts": result.parts}
        speed = self._tokens_now / max(seconds - starting, 1e-9)
        self._watcher.result(self._output, {**figures, "seconds": round(seconds, 2), "tokens/s": speed})
        return result

    def _tell_beginning(self, *, resume: bool) -> None:
        if self._folder.complete:
            self._watcher.note(f"{self._output}: is complete; nothing was left to do")
        elif self._before:
            self._watcher.note(f"{self._output}: continuing after {self._before:,} of {self._count:,} parts")
        elif resume and not self._folder.resumed:
            self._watcher.note(f"{self._folder.kept}: there is nothing to resume; starting from the beginning")
        self._watcher.begin("starting workers")

    def _see(self, instruction_set: str) -> None:
        """Say so when the machines do not compute alike."""
        if self._sets and instruction_set not in self._sets:
            known = " and ".join(sorted(self._sets))
            self._watcher.note(
                f"machines differ in their instructions ({instruction_set}; before that {known}), so vectors of "
                "different parts may differ in their last bits; the manifest names those of each part"
            )
        self._sets.add(instruction_set)


def _together(records: Iterable[PartRecord]) -> Repairs:
    """What was replaced in all parts."""
    sums = Repairs()
    for record in records:
        sums.invalid, sums.nulls = sums.invalid + record.invalid, sums.nulls + record.nulls
        sums.first = sums.first or record.first_repair
        for what, (times, place) in record.odd.items():
            sums.count(what, place, times)
    return sums
