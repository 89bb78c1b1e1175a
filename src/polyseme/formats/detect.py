"""Opens a model, or a table of word vectors, by name or path, whatever its format."""

import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from polyseme.errors import FormatError, InputError
from polyseme.formats import (
    bilm_hdf5,
    cove_folder,
    cove_state,
    many_langs,
    native,
    tf_checkpoint,
    translator_folder,
    word_vectors,
)
from polyseme.formats.files import HDF5_SIGNATURE, ZIP_SIGNATURE, Files, ZipFiles
from polyseme.formats.layouts import LAYOUTS, Opened, Roles, find_options, holds_softmax_alone, says_format, word_tables
from polyseme.models.model import Model, ModelPath
from polyseme.models.static import WordVectors

BUNDLED = Path(__file__).parent.parent / "bundled"
"""The folder of bundled models, one subfolder per model."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.+)")
"""``https://...``, also as `Path` writes it, with one slash; a single letter is a drive."""


def open_any(path: ModelPath, *, softmax: str | Path | None = None, vocabulary: str | Path | None = None) -> Opened:
    """Open a model or a table of word vectors of any known format.

    Args:
        path: What `open_model` takes, a file of word vectors, or a folder of them.
        softmax: An HDF5 file with the softmax, if it is a separate file.
        vocabulary: The output words, one per line, if they are a separate file.
    """
    extra = {"softmax": softmax, "vocabulary": vocabulary}
    given = {role: _existing(value, role) for role, value in extra.items() if value is not None}
    if isinstance(path, tuple):
        if len(path) != 2:
            raise InputError(f"got {len(path)} paths, expected (options, weights) or CoVe's (weights, vectors)")
        return replace(_read_pair(path, given), path=stored_path(path))
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"got {path!r} where a model is expected: a bundled one's name, a path, or (options, weights)")
    files, roles, kinds = _look(_local(path))
    try:
        opened = _read_known(files, roles, kinds, given)
    except zipfile.BadZipFile as error:  # an entry that is not compressed is checked while it is read
        raise FormatError(f"{files.where}: damaged ({error}); fetch it again") from error
    return replace(opened, path=stored_path(path)) if isinstance(opened, Model) else opened


def open_model(
    path: ModelPath,
    *,
    softmax: str | Path | None = None,
    vocabulary: str | Path | None = None,
) -> Model:
    """Open a contextual model of any known format.

    Args:
        path: The name of a bundled model, a folder, a zip, an HDF5 file with its options next to it, the prefix of a
            TensorFlow checkpoint, ``(options, weights)``, or CoVe's ``(weights, vectors)``.
        softmax: An HDF5 file with the softmax, if it is a separate file.
        vocabulary: The output words, one per line, if they are a separate file.
    """
    opened = open_any(path, softmax=softmax, vocabulary=vocabulary)
    if isinstance(opened, Model):
        return opened
    what = "static word vectors" if isinstance(opened, WordVectors) else "several vector sources"
    raise InputError(
        f"{path}: {what} ({opened.source}), but a model that reads words in context is needed here; give a model"
    )


def stored_as(model: Model) -> str:
    """The format of a model's files: that of our own folders, or else the one that the weights came from."""
    if model.path is not None and not isinstance(model.path, tuple):
        files, _, _ = _look(Path(model.path))
        for kind in (native.KIND, cove_folder.KIND, translator_folder.KIND):
            if says_format(files, kind):
                return kind
    return model.config.source


def stored_path(path: ModelPath) -> ModelPath:
    """A path that `open_any` can open from any working folder: an absolute path, or a bundled model's name."""
    if isinstance(path, tuple):
        return str(Path(path[0]).absolute()), str(Path(path[1]).absolute())
    local = Path(path)
    return local.name if _is_bundled(local) else str(local.absolute())


def bundled_names() -> list[str]:
    """The names of the bundled models."""
    return sorted(folder.name for folder in BUNDLED.glob("*") if (folder / native.CONFIG).is_file())


def _is_bundled(path: Path) -> bool:
    """Whether this is the name of a bundled model and not a path."""
    return path == Path(path.name) and not path.exists() and path.name in bundled_names()


def _read_known(files: Files, roles: Roles, kinds: tuple[str, ...], given: Mapping[str, Path]) -> Opened:
    """Read the model or word vectors in these files, whatever the format."""
    for layout in LAYOUTS:
        if kinds and layout.kind not in kinds:
            continue
        found = layout.find(files)
        if found is None:
            continue
        if surplus := given.keys() - layout.separate:
            what = f"a {layout.kind} model" if layout.no_parts == "carries its own" else layout.kind
            raise InputError(f"{files.where}: {what} {layout.no_parts} {' and '.join(sorted(surplus))}; leave it out")
        every = files.plus(given) if given else files
        return layout.read(every, **{**found, **roles, **{role: role for role in given}})
    for name in ("options.json", native.CONFIG):
        if name in files.names:
            files.json(name)  # says what is wrong with a damaged one
    known = "; ".join(f"{layout.kind}: {layout.recognised_by}" for layout in LAYOUTS)
    held = ", ".join(files.names[:6]) + (", ..." if len(files.names) > 6 else "") or "nothing"
    raise FormatError(f"{files.where}: contains no known model (it holds {held}); known are {known}")


def _look(path: Path) -> tuple[Files, Roles, tuple[str, ...]]:
    """Return the files to examine, the roles that the path itself decides, and the possible formats (none: any)."""
    if path.is_dir():
        return Files.folder(path), {}, ()
    if not path.exists():
        if path.with_name(path.name + ".index").exists():
            return Files.folder(path.parent), {"prefix": path.name}, (tf_checkpoint.KIND,)
        if _is_bundled(path):
            return Files.folder(BUNDLED / path.name), {}, ()
        known = ", ".join(bundled_names()) or "none"
        meant = get_close_matches(path.name, bundled_names(), n=1)
        hint = f"; did you mean {meant[0]}?" if meant and path.name == str(path) else ""
        raise InputError(
            f"{path}: no such file or folder, and no model of that name is bundled (there are: {known}){hint}"
        )
    return _look_at_file(path)


def _look_at_file(path: Path) -> tuple[Files, Roles, tuple[str, ...]]:
    """As `_look`, for a path that names one file."""
    siblings = Files.folder(path.parent)
    start = _start(path)
    if start == HDF5_SIGNATURE:
        options = find_options(siblings)
        if options is None:
            raise InputError(
                f"{path}: weights without options; put their options.json next to them or give (options, weights)"
            )
        return _without_other_hdf5(siblings, path), {}, (bilm_hdf5.KIND,)
    if start.startswith(ZIP_SIGNATURE) and path.suffix not in (".pkl", ".pt", ".pth"):
        return ZipFiles(path), {}, ()
    if path.suffix == ".index":
        return siblings, {"prefix": path.stem}, (tf_checkpoint.KIND,)
    if path.name == "checkpoint":
        return siblings, {}, (tf_checkpoint.KIND,)
    if path.name in (native.CONFIG, native.WEIGHTS, many_langs.TOKENS, many_langs.ENCODER):
        return siblings, {}, ()
    if path.suffix in cove_state.SUFFIXES and _is_saved_by_torch(path):
        return _look_at_state(path)
    if path.suffix == ".json" and "lstm" in (siblings.json_or_none(path.name) or {}):
        raise InputError(
            f"{path}: these are options without weights; give the folder, the weights file or (options, weights)"
        )
    if path.suffix in (".hdf5", ".h5"):
        raise FormatError(f"{path}: not an HDF5 file, or one damaged at its start; fetch it again")
    if word_vectors.is_table(path):
        return Files({path.name: path}, where=str(path)), {}, (word_vectors.FILE_KIND,)
    raise FormatError(
        f"{path}: not a model file of a known format; give a model folder, a zip, (options, weights) or word vectors"
    )


def _is_saved_by_torch(path: str | Path) -> bool:
    """Whether a path names a file that torch may have saved: a zip, or a pickle."""
    local = Path(path)
    return local.is_file() and _start(local).startswith((ZIP_SIGNATURE, b"\x80"))


def _read_cove(pair: tuple[str | Path, str | Path], given: Mapping[str, Path]) -> Model:
    """Read CoVe's ``(weights, vectors)``, in either order."""
    weights, vectors = map(Path, pair if _is_saved_by_torch(pair[0]) else pair[::-1])
    if given:
        raise InputError(f"{weights}: a {cove_state.KIND} model has no {' and '.join(sorted(given))}; leave it out")
    if not vectors.exists():
        raise InputError(f"{vectors}: no such file or folder; expected the word vectors that {weights} reads")
    return cove_state.read_parts(Files({weights.name: weights}, where=str(weights)), weights.name, vectors)


def _look_at_state(path: Path) -> tuple[Files, Roles, tuple[str, ...]]:
    """As `_look`, for a state dict: its word vectors may be next to it."""
    siblings = Files.folder(path.parent)
    tables = [name for name in word_tables(siblings) if name != path.name]
    if len(tables) != 1:
        raise InputError(
            f"{path}: weights saved by torch without their word vectors ({len(tables)} files next to it could be them);"
            " CoVe's weights are given as (weights, vectors), or with --vectors on the command line"
        )
    files = Files({name: path.parent / name for name in (path.name, *tables)}, where=str(path))
    return files, {}, (cove_state.KIND,)


def _read_pair(pair: tuple[str | Path, str | Path], given: Mapping[str, Path]) -> Model:
    """Read ``(options, weights)`` or CoVe's ``(weights, vectors)``."""
    if any(map(_is_saved_by_torch, pair)):
        return _read_cove(pair, given)
    second = Path(pair[1])
    if second.is_dir() or (second.is_file() and word_tables(Files({second.name: second}, where=str(second)))):
        raise InputError(f"{pair[0]}: no weights saved by torch, to which the vectors {second} could belong")
    return _read_bilm(_existing(pair[0], "options"), _existing(pair[1], "weights"), given)


def _read_bilm(options: Path, weights: Path, given: Mapping[str, Path]) -> Model:
    """Read ``(options, weights)`` of a biLM."""
    if _start(options) == HDF5_SIGNATURE:
        raise InputError(f"{options}: this is an HDF5 weights file where options are expected; give (options, weights)")
    files = Files({"options": options, "weights": weights, **given}, where=str(weights))
    if not files.begins_with("weights", HDF5_SIGNATURE):
        if files.json_or_none("weights") is not None:
            raise InputError(f"{weights}: this is an options file where weights are expected; give (options, weights)")
        raise FormatError(f"{weights}: not an HDF5 file, or one damaged at its start; fetch it again")
    return bilm_hdf5.read(files, options="options", weights="weights", **{role: role for role in given})


def _local(path: str | Path) -> Path:
    """Return the path; raise an error if it is a web address."""
    local = Path(path)
    address = _ADDRESS.match(str(path))
    if address and not local.exists():
        raise InputError(
            f"{address[1]}://{address[2]}: a web address; nothing is downloaded, "
            "fetch the file yourself and give its path"
        )
    return local


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check who may read it") from error


def _existing(path: str | Path, role: str) -> Path:
    path = _local(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the model's {role}")
    return path


def _without_other_hdf5(files: Files, path: Path) -> Files:
    """Of several weight files in a folder, keep the one that was named, and softmax files."""
    return Files(
        {
            name: path.parent / name
            for name in files.names
            if name == path.name or not files.begins_with(name, HDF5_SIGNATURE) or holds_softmax_alone(files, name)
        },
        where=str(path),
    )
