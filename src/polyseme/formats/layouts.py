"""One table of how every format is recognised by its content."""

from collections.abc import Callable
from dataclasses import dataclass

from polyseme.errors import FormatError, InputError
from polyseme.formats import (
    bilm_hdf5,
    combination,
    cove_folder,
    cove_state,
    many_langs,
    native,
    tf_checkpoint,
    translator_folder,
    word_vectors,
)
from polyseme.formats.combination import Combination
from polyseme.formats.files import HDF5_SIGNATURE, Files
from polyseme.models.model import Model
from polyseme.models.static import WordVectors

Opened = Model | WordVectors | Combination
Roles = dict[str, str]
"""Maps the role of a file (options, weights, ...) to its name."""


@dataclass(frozen=True)
class Layout:
    """One format: its name, how it is recognised and how it is read."""

    kind: str
    recognised_by: str
    find: Callable[[Files], Roles | None]
    """Returns the role of each needed file, or None if the files have another format."""
    read: Callable[..., Opened]
    separate: frozenset[str] = frozenset()
    """Roles of files that may be given separately."""
    no_parts: str = "carries its own"
    """Why other files cannot be given: the format carries its own, or has none."""


def find_options(files: Files) -> str | None:
    """The name of the JSON file that holds a biLM's options, if there is one."""
    names = [name for name in files.names if name.endswith(".json")]
    found = [name for name in names if isinstance((files.json_or_none(name) or {}).get("lstm"), dict)]
    return _only_one(files, "options", found) if found else None


def holds_softmax_alone(files: Files, name: str) -> bool:
    """Whether an HDF5 file contains the softmax of a biLM and not the biLM itself."""
    with files.open(name) as file:
        try:
            arrays = bilm_hdf5.Hdf5Weights(file, files.shown(name))
        except FormatError:
            return False
        return "softmax/W" in arrays and "char_embed" not in arrays and "embedding" not in arrays


def _find_native(files: Files) -> Roles | None:
    return {} if says_format(files, native.KIND) and native.WEIGHTS in files.names else None


def _find_cove_folder(files: Files) -> Roles | None:
    return {} if says_format(files, cove_folder.KIND) and cove_folder.WEIGHTS in files.names else None


def _find_translator(files: Files) -> Roles | None:
    return {} if says_format(files, translator_folder.KIND) else None


def _read_translator(files: Files) -> Model:
    """The encoder of a translator, which is what gives vectors."""
    return cove_folder.read(Files.folder(files.location(translator_folder.CONFIG).parent / translator_folder.COVE))


def _find_combination(files: Files) -> Roles | None:
    return {} if says_format(files, combination.KIND) else None


def _find_cove_state(files: Files) -> Roles | None:
    states = [name for name in files.names if name.endswith(cove_state.SUFFIXES)]
    tables = word_tables(files) if len(states) == 1 else []
    return {"weights": states[0], "vectors": _only_one(files, "word vectors", tables)} if tables else None


def _find_many_langs(files: Files) -> Roles | None:
    needed = {many_langs.TOKENS, many_langs.ENCODER, many_langs.CHARACTERS, many_langs.CONFIG}
    return {} if needed <= set(files.names) else None


def _find_hdf5(files: Files) -> Roles | None:
    found = [name for name in files.names if files.begins_with(name, HDF5_SIGNATURE)]
    softmax = [name for name in found if len(found) > 1 and holds_softmax_alone(files, name)]
    weights = [name for name in found if name not in softmax]
    options = find_options(files)
    if not weights or not options:
        return None
    _only_one(files, "weights", weights)
    roles = {"options": options, "weights": weights[0]}
    if softmax:
        roles["softmax"] = _only_one(files, "softmax", softmax)
    return roles | _vocabulary(files)


def _find_checkpoint(files: Files) -> Roles | None:
    options = find_options(files)
    if not options or not any(name.endswith(".index") for name in files.names):
        return None
    return {"options": options} | _vocabulary(files)


def says_format(files: Files, kind: str) -> bool:
    """Whether the config.json of one of our own folders says that it is of this kind."""
    config = files.json_or_none(native.CONFIG) if native.CONFIG in files.names else None
    return config is not None and config.get("format") == kind


def word_tables(files: Files) -> list[str]:
    """The files that begin like word vectors."""
    return [name for name in files.names if word_vectors.begins_as_table(files.content(name, 1 << 16))]


def _find_vectors_folder(files: Files) -> Roles | None:
    return {} if says_format(files, word_vectors.FOLDER_KIND) else None


def _find_vectors_file(files: Files) -> Roles | None:
    tables = word_tables(files) if len(files.names) == 1 else []
    return {"table": tables[0]} if tables else None


def _read_vectors_folder(files: Files) -> WordVectors:
    return word_vectors.read(files.location(native.CONFIG).parent)


def _read_vectors_file(files: Files, *, table: str) -> WordVectors:
    return word_vectors.read(files.location(table))


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
    Layout(
        cove_folder.KIND,
        "config.json that says so, model.safetensors and words.txt",
        _find_cove_folder,
        cove_folder.read,
        no_parts="has no",
    ),
    Layout(
        translator_folder.KIND,
        "config.json that says so, and the folder cove",
        _find_translator,
        _read_translator,
        no_parts="has no",
    ),
    Layout(
        cove_state.KIND,
        "one .pth or .pt file and one file of word vectors",
        _find_cove_state,
        cove_state.read,
        no_parts="has no",
    ),
    Layout(
        combination.KIND,
        "config.json that says so",
        _find_combination,
        combination.read,
        no_parts="has no",
    ),
    Layout(
        word_vectors.FOLDER_KIND,
        "config.json that says so, vectors.npy and words.txt",
        _find_vectors_folder,
        _read_vectors_folder,
        no_parts="has no",
    ),
    Layout(
        word_vectors.FILE_KIND,
        "one file of words with numbers, as GloVe, word2vec and fastText write it",
        _find_vectors_file,
        _read_vectors_file,
        no_parts="has no",
    ),
)


def _vocabulary(files: Files) -> Roles:
    """Find a text file with the markers of a vocabulary in its first lines."""
    for name in files.names:
        if name.endswith((".txt", ".vocab", ".txt.gz", ".vocab.gz")):
            head = files.content(name, 4096).decode("utf-8", "ignore").split("\n")
            if {"<unk>", "<UNK>"} & {line.strip() for line in head}:
                return {"vocabulary": name}
    return {}


def _only_one(files: Files, role: str, names: list[str]) -> str:
    if len(names) > 1:
        raise InputError(
            f"{files.where}: {len(names)} files could be the {role}: {', '.join(names)}; name the one you mean"
        )
    return names[0]
