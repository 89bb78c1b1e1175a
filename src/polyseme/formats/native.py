"""The native model folder: config.json, model.safetensors and the tables of words and characters."""

import json
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
from pydantic import ValidationError

from polyseme.errors import FormatError
from polyseme.files.json_file import problems
from polyseme.files.whole import whole_file, whole_folder
from polyseme.formats import mixes
from polyseme.formats.assemble import assemble
from polyseme.formats.choices import Storage
from polyseme.formats.files import Files
from polyseme.formats.safetensors_file import load_tensors
from polyseme.formats.storage import compact, expand
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig
from polyseme.models.model import Model
from polyseme.text.characters import ByteCharacters, Indexer, UnicodeCharacters, WholeWords
from polyseme.text.vocabulary import Vocabulary

KIND = "polyseme"
CONFIG, WEIGHTS, VOCABULARY, CHARACTERS, WORDS, CARD = (
    "config.json",
    "model.safetensors",
    "vocabulary.txt",
    "characters.json",
    "words.json",
    "README.md",
)


def read(files: Files) -> Model:
    """Read a native folder."""
    try:
        config = BiLMConfig.model_validate(files.json(CONFIG))
    except ValidationError as error:
        place, problem = next(problems(error))
        raise FormatError(f"{files.shown(CONFIG)}: {place}: {problem}") from error
    where = files.shown(WEIGHTS)
    tensors = expand(load_tensors(files, WEIGHTS), where=where)
    vocabulary = None
    if VOCABULARY in files.names:
        vocabulary = Vocabulary(files.text(VOCABULARY).split("\n")[:-1], where=files.shown(VOCABULARY))
        if len(vocabulary) != config.vocabulary_size and config.vocabulary_size:
            raise FormatError(
                f"{files.shown(VOCABULARY)}: {len(vocabulary):,} words but {CONFIG} says {config.vocabulary_size:,}"
            )
    network = assemble(config, tensors, where=where)
    stored = mixes.read(files, layers=network.layers)
    return Model(config, network, _indexer(files, config), vocabulary, mixes=stored)


def write(model: Model, folder: Path, *, storage: Storage = "float32") -> None:
    """Write a model into a new folder, its weights as they are or rounded."""
    with whole_folder(folder) as target:
        _write_json(target / CONFIG, model.bilm_config.model_dump(mode="json"), indent=2)
        write_weights(model, target / WEIGHTS, storage=storage)
        if model.vocabulary:
            text = "".join(f"{word}\n" for word in model.vocabulary.words)
            (target / VOCABULARY).write_text(text, encoding="utf-8", newline="\n")
        match model.indexer:
            case UnicodeCharacters() as unicode:
                markers = {"begin_word": unicode.begin_word, "end_word": unicode.end_word}
                _write_json(target / CHARACTERS, {**markers, "characters": dict(unicode.characters)})
                if unicode.words is not None:
                    _write_json(target / WORDS, dict(unicode.words))
            case WholeWords() as whole:
                _write_json(target / WORDS, dict(whole.words))
        if model.mixes:
            mixes.write(model.mixes, target)
        (target / CARD).write_text(_card(model), encoding="utf-8")


def write_weights(model: Model, path: Path, *, storage: Storage = "float32") -> None:
    """Write the weights of a model, or replace those in a folder; the file is complete at every moment."""
    tensors = {name: tensor.contiguous().cpu() for name, tensor in model.bilm.state_dict().items()}
    with whole_file(path) as temporary:
        safetensors.torch.save_file(compact(tensors, storage), temporary, metadata={"format": "pt"})
        temporary.chmod(0o644)  # safetensors makes it readable by its owner only


def _indexer(files: Files, config: BiLMConfig) -> Indexer:
    encoder = config.token_encoder
    if not isinstance(encoder, CharacterEncoderConfig):
        return WholeWords(_table(files, WORDS, files.json(WORDS), encoder.words))
    if encoder.alphabet == "bytes":
        return ByteCharacters(encoder.max_characters)
    characters = files.json(CHARACTERS)
    if not isinstance(characters.get("characters"), dict):
        raise FormatError(f"{files.shown(CHARACTERS)}: no 'characters' object; expected character: id pairs in it")
    return UnicodeCharacters(
        _table(files, CHARACTERS, characters["characters"], encoder.characters),
        max_characters=encoder.max_characters,
        words=_table(files, WORDS, files.json(WORDS), encoder.words) if encoder.words else None,
        begin_word=str(characters.get("begin_word", "<bow>")),
        end_word=str(characters.get("end_word", "<eow>")),
    )


def _table(files: Files, name: str, table: Mapping[str, object], rows: int) -> dict[str, int]:
    """Check that every id has a row."""
    checked: dict[str, int] = {}
    for key, value in table.items():
        if not isinstance(value, int) or not 0 <= value < rows:
            raise FormatError(f"{files.shown(name)}: {key!r} has id {value!r}, expected a number below {rows}")
        checked[key] = value
    return checked


def _write_json(path: Path, value: Mapping[str, object], *, indent: int | None = None) -> None:
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def _card(model: Model) -> str:
    config = model.bilm_config
    parameters = sum(parameter.numel() for parameter in model.bilm.parameters())
    return (
        f"# A biLM for polyseme\n\n"
        f"{parameters:,} parameters, {model.bilm.layers} layers of width {model.bilm.dim}, "
        f"softmax over {config.vocabulary_size:,} words.\n\nConverted from: {config.source}.\n\n"
        "Data, licence and figures of the weights are those of the model they were converted from.\n\n"
        "```python\nimport polyseme\n\nembedder = polyseme.load('path/to/this/folder')\n"
        "vectors = embedder.embed([['The', 'river', 'bank']])\n```\n"
    )
