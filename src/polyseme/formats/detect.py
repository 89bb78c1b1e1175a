"""Which format is this? One table, by content, and the one function that opens any of them."""

import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from polyseme.errors import FormatError, InputError
from polyseme.formats import bilm_hdf5, many_langs, native, tf_checkpoint
from polyseme.formats.files import HDF5_SIGNATURE, ZIP_SIGNATURE, Files, ZipFiles
from polyseme.models.model import Model, ModelPath

BUNDLED = Path(__file__).parent.parent / "bundled"
"""Models that come with the package, a folder each."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.+)")
"""``https://...``, also as `Path` writes it, with one stroke; a single letter is a drive."""


@dataclass(frozen=True)
class Layout:
    """One format: what it is called, what tells it, and how it is read."""

    kind: str
    told_by: str
    find: Callable[[Files], dict[str, str] | None]
    """The role of each file that is needed, or None where this is another format."""
    read: Callable[..., Model]
    takes: frozenset[str] = frozenset()
    """What may be given apart."""


def _find_native(files: Files) -> dict[str, str] | None:
    if native.CONFIG not in files.names:
        return None
    config = files.json_or_none(native.CONFIG)
    return {} if config and config.get("format") == native.KIND and native.WEIGHTS in files.names else None


def _find_many_langs(files: Files) -> dict[str, str] | None:
    return (
        {}
        if {many_langs.TOKENS, many_langs.ENCODER, many_langs.CHARACTERS, many_langs.CONFIG} <= set(files.names)
        else None
    )


def _find_hdf5(files: Files) -> dict[str, str] | None:
    found = [name for name in files.names if files.begins_with(name, HDF5_SIGNATURE)]
    softmax = [name for name in found if len(found) > 1 and _holds_softmax_alone(files, name)]
    weights = [name for name in found if name not in softmax]
    options = _options(files)
    if not weights or not options:
        return None
    _only_one(files, "weights", weights)
    roles = {"options": options, "weights": weights[0]}
    if softmax:
        roles["softmax"] = _only_one(files, "softmax", softmax)
    return roles | _vocabulary(files)


def _find_checkpoint(files: Files) -> dict[str, str] | None:
    options = _options(files)
    if not options or not any(name.endswith(".index") for name in files.names):
        return None
    return {"options": options} | _vocabulary(files)


LAYOUTS = (
    Layout(native.KIND, "config.json that says so, and model.safetensors", _find_native, native.read),
    Layout(
        many_langs.KIND, "config.json, char.dic, token_embedder.pkl and encoder.pkl", _find_many_langs, many_langs.read
    ),
    Layout(
        bilm_hdf5.KIND,
        "a JSON file with an 'lstm' setting and an HDF5 file",
        _find_hdf5,
        bilm_hdf5.read,
        frozenset({"softmax", "vocabulary"}),
    ),
    Layout(
        tf_checkpoint.KIND,
        "a JSON file with an 'lstm' setting and a checkpoint's .index",
        _find_checkpoint,
        tf_checkpoint.read,
        frozenset({"vocabulary"}),
    ),
)


def open_model(
    path: ModelPath,
    *,
    softmax: str | Path | None = None,
    vocabulary: str | Path | None = None,
) -> Model:
    """Open a model of any known format.

    Args:
        path: The name of a bundled model, a folder, a zip, an HDF5 file with its options beside it, the prefix of a
            TensorFlow checkpoint, or ``(options, weights)``.
        softmax: An HDF5 file with the softmax, where it is apart.
        vocabulary: The output words, one a line, where they are apart.
    """
    extra = {"softmax": softmax, "vocabulary": vocabulary}
    given = {role: _existing(value, role) for role, value in extra.items() if value is not None}
    if isinstance(path, tuple):
        if len(path) != 2:
            raise InputError(f"got {len(path)} paths, expected (options, weights)")
        model = _read_pair(_existing(path[0], "options"), _existing(path[1], "weights"), given)
        return replace(model, path=(str(Path(path[0]).absolute()), str(Path(path[1]).absolute())))
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"got {path!r} where a model is expected: a bundled one's name, a path, or (options, weights)")
    local = _local(path)
    files, roles, kinds = _look(local)
    try:
        model = _read_known(files, roles, kinds, given)
        return replace(model, path=local.name if _is_bundled(local) else str(local.absolute()))
    except zipfile.BadZipFile as error:  # an entry that is not compressed is checked while it is read
        raise FormatError(f"{files.where}: damaged ({error}); fetch it again") from error


def bundled_names() -> list[str]:
    """The models that come with the package."""
    return sorted(folder.name for folder in BUNDLED.glob("*") if (folder / native.CONFIG).is_file())


def _is_bundled(path: Path) -> bool:
    """Whether a path that leads nowhere is the name of a model in the box."""
    return path == Path(path.name) and not path.exists() and path.name in bundled_names()


def _read_known(files: Files, roles: Mapping[str, str], kinds: tuple[str, ...], given: Mapping[str, Path]) -> Model:
    """Read the model that is among some files, whatever its format."""
    for layout in LAYOUTS:
        if kinds and layout.kind not in kinds:
            continue
        found = layout.find(files)
        if found is None:
            continue
        surplus = given.keys() - layout.takes
        if surplus:
            raise InputError(
                f"{files.where}: a {layout.kind} model carries its own {' and '.join(sorted(surplus))}; leave it out"
            )
        return layout.read(_with(files, given), **{**found, **roles, **{role: role for role in given}})
    for name in ("options.json", native.CONFIG):
        if name in files.names:
            files.json(name)  # says what is wrong with a damaged one
    known = "; ".join(f"{layout.kind}: {layout.told_by}" for layout in LAYOUTS)
    held = ", ".join(files.names[:6]) + (", ..." if len(files.names) > 6 else "") or "nothing"
    raise FormatError(f"{files.where}: no known model in it (it holds {held}); known are {known}")


def _look(path: Path) -> tuple[Files, dict[str, str], tuple[str, ...]]:
    """The files to look through, roles that the path itself settles, and the formats it can be."""
    if path.is_dir():
        return Files.folder(path), {}, ()
    if not path.exists():
        if path.with_name(path.name + ".index").exists():
            return Files.folder(path.parent), {"prefix": path.name}, (tf_checkpoint.KIND,)
        if _is_bundled(path):
            return Files.folder(BUNDLED / path.name), {}, ()
        known = ", ".join(bundled_names()) or "none"
        raise InputError(f"{path}: no such file or folder, and no model of that name is bundled (there are: {known})")
    beside = Files.folder(path.parent)
    start = _start(path)
    if start == HDF5_SIGNATURE:
        options = _options(beside)
        if options is None:
            raise InputError(
                f"{path}: weights without options; put their options.json beside them or give (options, weights)"
            )
        return _without_other_hdf5(beside, path), {}, (bilm_hdf5.KIND,)
    if start.startswith(ZIP_SIGNATURE) and path.suffix not in (".pkl", ".pt", ".pth"):
        return ZipFiles(path), {}, ()
    if path.suffix == ".index":
        return beside, {"prefix": path.stem}, (tf_checkpoint.KIND,)
    if path.name == "checkpoint":
        return beside, {}, (tf_checkpoint.KIND,)
    if path.name in (native.CONFIG, native.WEIGHTS, many_langs.TOKENS, many_langs.ENCODER):
        return beside, {}, ()
    if path.suffix == ".json" and "lstm" in (beside.json_or_none(path.name) or {}):
        raise InputError(
            f"{path}: these are options without weights; give the folder, the weights file or (options, weights)"
        )
    if path.suffix in (".hdf5", ".h5"):
        raise FormatError(f"{path}: not an HDF5 file, or one damaged at its start; fetch it again")
    raise FormatError(f"{path}: not a model file of a known format; give a model folder, a zip or (options, weights)")


def _read_pair(options: Path, weights: Path, given: Mapping[str, Path]) -> Model:
    """Read ``(options, weights)`` named by the caller."""
    if _start(options) == HDF5_SIGNATURE:
        raise InputError(f"{options}: this is an HDF5 weights file where options are expected; give (options, weights)")
    files = Files({"options": options, "weights": weights, **given}, where=str(weights))
    if not files.begins_with("weights", HDF5_SIGNATURE):
        if files.json_or_none("weights") is not None:
            raise InputError(f"{weights}: this is an options file where weights are expected; give (options, weights)")
        raise FormatError(f"{weights}: not an HDF5 file, or one damaged at its start; fetch it again")
    return bilm_hdf5.read(files, options="options", weights="weights", **{role: role for role in given})


def _local(path: str | Path) -> Path:
    """The path, unless it is an address."""
    local = Path(path)
    address = _ADDRESS.match(str(path))
    if address and not local.exists():
        raise InputError(
            f"{address[1]}://{address[2]}: an address; nothing is downloaded, fetch the file yourself and give its path"
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


def _with(files: Files, given: Mapping[str, Path]) -> Files:
    return files.plus(given) if given else files


def _without_other_hdf5(files: Files, path: Path) -> Files:
    """Of several weight files in a folder, the one that was named, and softmax files."""
    return Files(
        {
            name: path.parent / name
            for name in files.names
            if name == path.name or not files.begins_with(name, HDF5_SIGNATURE) or _holds_softmax_alone(files, name)
        },
        where=str(path),
    )


def _options(files: Files) -> str | None:
    names = [name for name in files.names if name.endswith(".json")]
    found = [name for name in names if isinstance((files.json_or_none(name) or {}).get("lstm"), dict)]
    return _only_one(files, "options", found) if found else None


def _vocabulary(files: Files) -> dict[str, str]:
    """A text file that lists the markers of a vocabulary among its first lines."""
    for name in files.names:
        if name.endswith((".txt", ".vocab", ".txt.gz", ".vocab.gz")):
            head = files.content(name, 4096).decode("utf-8", "ignore").split("\n")
            if {"<unk>", "<UNK>"} & {line.strip() for line in head}:
                return {"vocabulary": name}
    return {}


def _holds_softmax_alone(files: Files, name: str) -> bool:
    with files.open(name) as file:
        try:
            arrays = bilm_hdf5.Hdf5Weights(file, files.shown(name))
        except FormatError:
            return False
        return "softmax/W" in arrays and "char_embed" not in arrays and "embedding" not in arrays


def _only_one(files: Files, role: str, names: list[str]) -> str:
    if len(names) > 1:
        raise InputError(
            f"{files.where}: {len(names)} files could be the {role}: {', '.join(names)}; name the one you mean"
        )
    return names[0]
