"""Hands parts to actors until all are done, whatever happens to the actors.

An actor embeds one part at a time. If it is lost, with its machine or alone, its part goes to another one and a new
actor is started, which begins to work when some machine has room for it. When no part is waiting, a part that takes
much longer than others is given to an idle actor too, and the first of the two that finishes counts: doing a part twice
makes the same file. So neither a slow machine nor one that does not answer holds up the end.
"""

import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Protocol, TypeAlias

from polyseme.embed.vectors_record import PartRecord
from polyseme.errors import OutputError, PolysemeError
from polyseme.files.interrupt import Interruption
from polyseme.files.whole import reason
from polyseme.scale.parts import Part
from polyseme.scale.worker import Ready

_LOSSES = 6
"""How often a part may be lost with its actor before it is taken for the reason."""
_FAILURES = 3
"""How often a part may fail with an error of the system, such as a network that does not answer."""
_STARTS = 12
"""How many actors may be lost in a row before the first part is done."""
SLOW = 2.0
"""A part that takes this many times as long as half of the others is given to a second actor."""
_LOOK_AGAIN = 5.0
"""Seconds after which the size of the cluster is asked for again."""


Reference: TypeAlias = object
"""What Ray gives for a result that is not there yet."""


class _Method(Protocol):
    def remote(self, *arguments: object) -> Reference:
        """Call it in the actor's process."""


class Actor(Protocol):
    """A `Worker` in another process."""

    @property
    def ready(self) -> _Method:
        """See `Worker.ready`."""

    @property
    def embed(self) -> _Method:
        """See `Worker.embed`."""


@dataclass
class _Task:
    """A part that an actor is working on."""

    actor: Actor
    part: Part
    begun: float = field(default_factory=time.monotonic)


class ActorPool:
    """Runs actors on a cluster.

    Args:
        ray: The package.
        start: Starts an actor.
        wanted: How many actors there should be now.
        finished: Is told of every part that is done, once.
        joined: Is told of every actor that is ready.
        lost: Is told in one line of every actor that is lost.
    """

    def __init__(
        self,
        ray: ModuleType,
        *,
        start: Callable[[], Actor],
        wanted: Callable[[], int],
        finished: Callable[[PartRecord], None],
        joined: Callable[[Ready], None],
        lost: Callable[[str], None],
    ) -> None:
        self._ray, self._start, self._wanted = ray, start, wanted
        self._finished, self._joined, self._lost = finished, joined, lost
        self._starting: dict[Reference, Actor] = {}  # what `ready` returns, and the actor
        self._running: dict[Reference, _Task] = {}
        self._idle: list[Actor] = []
        self._seconds: list[float] = []
        self._losses: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._lost_in_a_row = 0
        self._looked = float("-inf")
        self._size = 0

    @property
    def actors(self) -> int:
        """How many actors can work now."""
        return len(self._idle) + len(self._running)

    def run(self, parts: Sequence[Part], interrupted: Interruption) -> None:
        """Have every part embedded.

        Raises:
            PolysemeError: A part cannot be embedded.
            Interrupted: A signal came.
        """
        waiting, open_parts = deque(parts), {part.name for part in parts}
        while open_parts:
            interrupted.check()
            self._fill(len(open_parts))
            self._hand_out(waiting, open_parts)
            done, _ = self._ray.wait([*self._starting, *self._running], num_returns=1, timeout=1.0)
            for reference in done:
                if reference in self._starting:
                    self._take_in(reference)
                else:
                    self._collect(reference, waiting, open_parts)

    def stop(self) -> None:
        """End all actors."""
        for actor in [*self._starting.values(), *self._idle, *(task.actor for task in self._running.values())]:
            self._ray.kill(actor)

    def _fill(self, parts: int) -> None:
        """Start as many actors as there should be."""
        if time.monotonic() - self._looked >= _LOOK_AGAIN:
            self._size, self._looked = max(1, self._wanted()), time.monotonic()
        while self.actors + len(self._starting) < min(self._size, parts):
            actor = self._start()
            self._starting[actor.ready.remote()] = actor

    def _hand_out(self, waiting: deque[Part], open_parts: set[str]) -> None:
        while self._idle and waiting:
            part = waiting.popleft()
            if part.name in open_parts:
                self._give(self._idle.pop(), part)
        if self._idle and self._seconds and (slow := self._slowest(open_parts)) is not None:
            self._give(self._idle.pop(), slow)

    def _give(self, actor: Actor, part: Part) -> None:
        self._running[actor.embed.remote(part)] = _Task(actor, part)

    def _slowest(self, open_parts: set[str]) -> Part | None:
        """The part that has taken longest, if that is much longer than usual and only one actor works on it."""
        times = Counter(task.part.name for task in self._running.values())
        alone = [task for task in self._running.values() if times[task.part.name] == 1 and task.part.name in open_parts]
        oldest = min(alone, key=lambda task: task.begun, default=None)
        usual = SLOW * statistics.median(self._seconds)
        return None if oldest is None or time.monotonic() - oldest.begun < usual else oldest.part

    def _take_in(self, reference: Reference) -> None:
        """Look at an actor that is ready, or was lost before it was."""
        actor = self._starting.pop(reference)
        try:
            ready: Ready = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._lose("a worker did not start", error)
            return
        self._joined(ready)
        self._idle.append(actor)

    def _collect(self, reference: Reference, waiting: deque[Part], open_parts: set[str]) -> None:
        """Look at what became of a part."""
        task = self._running.pop(reference)
        name = task.part.name
        try:
            record: PartRecord = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            self._idle.append(task.actor)
            self._retry_after_error(task.part, error)
            waiting.append(task.part)
        except self._ray.exceptions.RayError as error:
            self._losses[name] += 1
            if self._losses[name] >= _LOSSES:
                raise OutputError(
                    f"{name}: {_LOSSES} workers were lost while they embedded this part ({_short(error)}); if memory "
                    "was short, choose a smaller --batch-tokens, and continue with --resume"
                ) from error
            self._lose(f"a worker was lost, and {name} is embedded again", error)
            waiting.appendleft(task.part)
        else:
            self._idle.append(task.actor)
            self._lost_in_a_row = 0
            if name in open_parts:
                open_parts.remove(name)
                self._seconds.append(time.monotonic() - task.begun)
                self._finished(record)

    def _retry_after_error(self, part: Part, error: Exception) -> None:
        """Raise the error of a part, unless it may not come again."""
        cause: Exception = getattr(error, "cause", error)
        self._failures[part.name] += 1
        if isinstance(cause, PolysemeError):
            raise cause
        if not isinstance(cause, OSError) or self._failures[part.name] >= _FAILURES:
            raise OutputError(
                f"{part.name}: {type(cause).__name__}: {reason(cause)}; put that right and continue with --resume"
            ) from error
        self._lost(f"{part.name}: {reason(cause)}; it is embedded again")

    def _lose(self, what: str, error: Exception) -> None:
        cause = getattr(error, "cause", None)
        if isinstance(cause, PolysemeError):
            raise cause
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= _STARTS:
            raise OutputError(
                f"{_STARTS} workers were lost in a row ({_short(error)}); see that polyseme is installed on every "
                "machine and memory suffices, and continue with --resume"
            ) from error
        self._lost(f"{what} ({_short(error)})")


def _short(error: BaseException) -> str:
    """The first line of an error of Ray, without the trace that follows."""
    text = reason(error)
    first = str(error).strip().splitlines()
    return (first[0] if first else text)[:200].rstrip(".:")
