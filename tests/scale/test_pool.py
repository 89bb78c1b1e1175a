"""The pool with a Ray that is not there: every way in which actors and parts can fail."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polyseme.embed.vectors_record import PartRecord
from polyseme.errors import InputError, OutputError
from polyseme.files.interrupt import Interruption
from polyseme.files.location import Location
from polyseme.scale.parts import InputFile, Part
from polyseme.scale.pool import ActorPool
from polyseme.scale.worker import Ready


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class FakeRay:
    """Computes when it is asked for a result; what ``outcome`` raises is what becomes of a call."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, outcome: Callable[[str, int], None]) -> None:
        self._outcome, self.killed, self.started = outcome, 0, 0
        self._calls: dict[str, int] = {}
        self.stuck: set[str] = set()
        self.given: list[str] = []

    def wait(self, references: list[Any], *, num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        done = [one for one in references if one[1] not in self.stuck][:num_returns]
        return done, []

    def get(self, reference: Any) -> Any:
        kind, name, _ = reference
        self._calls[name] = self._calls.get(name, 0) + 1
        self._outcome(name, self._calls[name])
        return Ready(1, "x86-64-v3") if kind == "ready" else record(name)

    def kill(self, actor: Any) -> None:
        self.killed += 1

    def actor(self) -> Any:
        self.started += 1
        number = self.started

        def embed(part: Part) -> Any:
            self.given.append(part.name)
            return ("embed", part.name, object())

        return SimpleNamespace(
            ready=SimpleNamespace(remote=lambda: ("ready", f"actor {number}", object())),
            embed=SimpleNamespace(remote=embed),
        )


def record(name: str) -> PartRecord:
    counts = dict.fromkeys(("start", "stop", "sentences", "tokens", "lines", "longest"), 1)
    return PartRecord.model_validate({"name": name, "file": "a.txt", "instruction_set": "x86-64-v3", **counts})


PARTS = [Part(f"{number}.parquet", InputFile(Location.of(Path("a.txt")), 1, "", "lines"), 0, 1) for number in range(5)]


def run(outcome: Callable[[str, int], None], actors: int = 2) -> tuple[FakeRay, list[str], list[str]]:
    """Run all parts; returns the parts that were reported and what was told of losses."""
    ray = FakeRay(outcome)
    finished: list[str] = []
    lost: list[str] = []
    pool = ActorPool(
        ray,  # type: ignore[arg-type]
        start=ray.actor,
        wanted=lambda: actors,
        finished=lambda one: finished.append(one.name),
        joined=lambda ready: None,
        lost=lost.append,
    )
    pool.run(PARTS, Interruption())
    pool.stop()
    return ray, finished, lost


def nothing(name: str, times: int) -> None:
    """All goes well."""


def test_every_part_once() -> None:
    ray, finished, lost = run(nothing)
    assert sorted(finished) == [part.name for part in PARTS]
    assert (ray.started, ray.killed, lost) == (2, 2, [])
    assert run(nothing, actors=50)[0].started == 5  # no more than there are parts


def test_a_lost_actor_is_replaced_and_its_part_done_again() -> None:
    def outcome(name: str, times: int) -> None:
        if name == "2.parquet" and times <= 3:
            raise RayError("The actor died unexpectedly.\nmore")

    ray, finished, lost = run(outcome)
    assert sorted(finished) == [part.name for part in PARTS]
    assert ray.given.count("2.parquet") == 4
    assert ray.started == 4  # at the end one part is open, and one actor is enough
    assert lost == ["a worker was lost, and 2.parquet is embedded again (The actor died unexpectedly)"] * 3


def test_a_part_that_kills_its_actors_ends_the_job() -> None:
    def outcome(name: str, times: int) -> None:
        if name == "2.parquet":
            raise RayError("out of memory")

    with pytest.raises(OutputError, match=r"2.parquet: 6 workers were lost while they embedded this part \(out of mem"):
        run(outcome)


def test_actors_that_never_start_end_the_job() -> None:
    def outcome(name: str, times: int) -> None:
        raise RayError("no module named polyseme")

    with pytest.raises(OutputError, match=r"12 workers were lost in a row \(no module named polyseme\); see that"):
        run(outcome)


def test_an_error_of_the_system_is_tried_again_and_one_of_the_text_is_not() -> None:
    def network(name: str, times: int) -> None:
        if name == "1.parquet" and times <= 2:
            raise RayTaskError(ConnectionError("the network does not answer"))

    _, finished, lost = run(network)
    assert sorted(finished) == [part.name for part in PARTS]
    assert lost == ["1.parquet: the network does not answer; it is embedded again"] * 2

    def broken(name: str, times: int) -> None:
        if name == "1.parquet":
            raise RayTaskError(ConnectionError("the network does not answer"))

    with pytest.raises(OutputError, match=r"1.parquet: ConnectionError: the network does not answer; put that right"):
        run(broken)

    def text(name: str, times: int) -> None:
        if name == "1.parquet":
            raise RayTaskError(InputError("a.txt:3: not JSON"))

    with pytest.raises(InputError, match=r"^a.txt:3: not JSON$"):
        run(text)

    def version(name: str, times: int) -> None:
        if name.startswith("actor"):
            raise RayTaskError(InputError("polyseme 0.2 is installed on b"))

    with pytest.raises(InputError, match=r"^polyseme 0.2 is installed on b$"):
        run(version)


def test_a_slow_part_is_given_to_a_second_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def tick() -> float:
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr("polyseme.scale.pool.time", SimpleNamespace(monotonic=tick))
    finished: list[str] = []
    ray = FakeRay(nothing)
    ray.stuck.add("0.parquet")  # its actor does not answer...
    give = ray.actor

    def actor() -> Any:
        made = give()
        embed = made.embed.remote

        def second(part: Part) -> Any:
            if part.name == "0.parquet" and "0.parquet" in ray.given:
                ray.stuck.discard("0.parquet")  # ... and the second one does
            return embed(part)

        made.embed = SimpleNamespace(remote=second)
        return made

    pool = ActorPool(
        ray,  # type: ignore[arg-type]
        start=actor,
        wanted=lambda: 2,
        finished=lambda one: finished.append(one.name),
        joined=lambda ready: None,
        lost=lambda what: None,
    )
    pool.run(PARTS, Interruption())
    assert sorted(finished) == [part.name for part in PARTS]
    assert ray.given.count("0.parquet") == 2
