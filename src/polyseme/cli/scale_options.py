"""Options of commands that can run on many machines."""

from typing import Annotated

import typer

from polyseme.errors import InputError
from polyseme.scale.settings import PART_BYTES, Engine, ScaleSettings

EngineOption = Annotated[Engine, typer.Option(help="Embed in this process, or on many machines with Ray.")]
AddressOption = Annotated[
    str | None,
    typer.Option(
        help="With --engine ray: a Ray cluster, as auto or host:port. [default: Ray on this machine alone]",
        show_default=False,
    ),
]
ActorsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --engine ray: how many processes embed. [default: as many as the processors allow]",
        show_default=False,
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(min=1, help="With --engine ray: threads of each process. [default: 1]", show_default=False),
]
PartBytesOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=f"With --engine ray: bytes of text that make one part of the output. [default: {PART_BYTES}]",
        show_default=False,
    ),
]


def scale_settings(
    engine: Engine, address: str | None, actors: int | None, threads: int | None, part_bytes: int | None
) -> ScaleSettings | None:
    """How to spread the work; None if it is done in this process."""
    if engine == "ray":
        return ScaleSettings(address=address, actors=actors, threads=threads or 1, part_bytes=part_bytes or PART_BYTES)
    given = {"--address": address, "--actors": actors, "--threads": threads, "--part-bytes": part_bytes}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} {value} is for --engine ray; add that, or leave it out")
    return None


def refuse_with_ray(**given: bool) -> None:
    """Refuse options that have no meaning for a folder of parts."""
    for name, value in given.items():
        if value:
            raise InputError(
                f"--{name.replace('_', '-')} is for a single file, and --engine ray writes a folder; leave it out"
            )
