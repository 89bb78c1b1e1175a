"""Which store does the name of an index mean: a folder, or a database?"""

from collections.abc import Mapping
from pathlib import Path

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.files.work_folder import work_path
from polyseme.index.about import About
from polyseme.index.choices import Compression
from polyseme.index.folder_run import FolderRun, check_folder
from polyseme.index.folder_store import FolderStore
from polyseme.index.manifest import MANIFEST
from polyseme.index.store import Run, Store


def is_address(place: str | Path) -> bool:
    """Whether a name is the address of a database."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def is_index(place: str) -> bool:
    """Whether a name is that of an index, rather than of a text."""
    return is_address(place) or (Path(place) / MANIFEST).is_file()


def open_store(place: str | Path, *, verify: bool) -> Store:
    """The index under a name, open for reading.

    Args:
        place: A folder, or the address of a database.
        verify: Of a folder, read every file once and compare it with its checksum.
    """
    if is_address(place):
        from polyseme.index.postgres.address import Address
        from polyseme.index.postgres.reading import PostgresStore

        return PostgresStore(Address.parse(str(place)))
    return FolderStore(Path(place), verify=verify)


def check_place(place: str | Path, compression: Compression, dim: int) -> None:
    """Raise an error if no index of such vectors can be written under a name, or a package is missing."""
    if not is_address(place):
        check_folder(Path(place))
        return
    from polyseme.index.postgres.address import Address
    from polyseme.index.postgres.tables import WIDEST

    name = Address.parse(str(place)).name
    if compression != "float16":
        raise InputError(f"{name}: a database stores two bytes per number; leave out --compression {compression}")
    if dim > WIDEST:
        raise InputError(f"{name}: vectors of {dim:,} numbers, and pgvector can search {WIDEST:,}; use a folder")


def interrupted_run(place: str | Path) -> bool:
    """Whether an interrupted run of the index under a name may have left its work."""
    return is_address(place) or work_path(Path(place)).exists()


def begin_run(
    place: str | Path,
    about: About,
    settings: Mapping[str, JSON],
    *,
    resume: bool,
    append: bool,
    shard_bytes: int,
    label: str | None,
) -> Run:
    """Begin or resume a run that makes the index under a name, or adds to it; see `FolderRun` for the arguments."""
    if is_address(place):
        from polyseme.index.postgres.address import Address
        from polyseme.index.postgres.writing import PostgresRun

        address = Address.parse(str(place))
        return PostgresRun(address, about, settings, resume=resume, append=append, batch_bytes=shard_bytes)
    return FolderRun(Path(place), about, settings, resume=resume, append=append, shard_bytes=shard_bytes, label=label)
