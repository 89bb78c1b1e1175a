"""How the work is spread over a cluster."""

from dataclasses import dataclass
from typing import Literal, get_args

from polyseme.errors import InputError

Engine = Literal["local", "ray"]
"""Where text is embedded: in one process, or on a Ray cluster."""
ENGINES: tuple[Engine, ...] = get_args(Engine)

PART_BYTES = 1 << 19
"""Bytes of text in a part, if nothing else is chosen: about 100,000 tokens."""


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """How the work is spread over a cluster. The vectors do not depend on it.

    Attributes:
        address: Of a Ray cluster: ``auto``, ``host:port`` or ``ray://host:port``; None starts Ray on this machine for
            the time of the job.
        actors: How many processes embed; None for as many as the processors of the cluster allow, also if machines join
            or leave.
        threads: Threads, and processors that Ray sets aside, of each of them.
        part_bytes: A part of the output is made of about this many bytes of text.
    """

    address: str | None = None
    actors: int | None = None
    threads: int = 1
    part_bytes: int = PART_BYTES

    def __post_init__(self) -> None:
        for name, value in (("actors", self.actors), ("threads", self.threads), ("part_bytes", self.part_bytes)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}, expected at least 1")
