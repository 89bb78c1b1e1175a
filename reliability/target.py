"""What is tried: a target makes good files, damages them, and opens them as a user would."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from polyseme.errors import PolysemeError
from reliability.damage.folder import damage_folder

ServerName = Literal["small", "whole", "sanitized"]
"""Readers of text need no torch, and a process without it forks in a tenth of the time; kernels need the sanitisers."""


def every(*calls: Callable[[], object]) -> None:
    """Make every call, also after one that was refused; raises the first refusal at the end."""
    refused: PolysemeError | None = None
    for call in calls:
        try:
            call()
        except PolysemeError as error:
            if "\n" in str(error):
                raise
            refused = refused or error
    if refused is not None:
        raise refused


def _as_it_is(folder: Path, draw: random.Random) -> None:
    """Change nothing."""


@dataclass(frozen=True)
class Target:
    """One kind of input that is not trusted."""

    name: str
    make: Callable[[Path], None]
    """Writes good files into an empty folder."""
    attempt: Callable[[Path], object]
    """Opens and uses the files; returns, or raises a `PolysemeError`."""
    damage: Callable[[Path, random.Random], None] = damage_folder
    """Changes the files."""
    seal: Callable[[Path, random.Random], None] = _as_it_is
    """Makes sizes and checksums in other files right again after the damage, so that it is reached."""
    server: ServerName = "whole"
    """The kind of process whose forks try it."""

    @property
    def folder(self) -> str:
        """The name as that of a folder."""
        return self.name.replace(", ", "-").replace(" ", "-")
