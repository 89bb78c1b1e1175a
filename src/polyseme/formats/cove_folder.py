"""The native folder of a CoVe model: config.json, model.safetensors and words.txt."""

import json
from collections import Counter
from pathlib import Path

import safetensors
import safetensors.torch
from pydantic import ValidationError

from polyseme.errors import FormatError, InputError
from polyseme.files.json_file import problems
from polyseme.files.whole import whole_folder
from polyseme.formats.assemble import assemble_network
from polyseme.formats.choices import Storage
from polyseme.formats.files import Files
from polyseme.formats.storage import compact, expand
from polyseme.models.model import Model
from polyseme.models.mt_lstm import MtLstm, MtLstmConfig
from polyseme.text.table_words import TableWords, fits_a_line

KIND = "polyseme cove"
CONFIG, WEIGHTS, WORDS, CARD = "config.json", "model.safetensors", "words.txt", "README.md"


def read(files: Files) -> Model:
    """Read a native CoVe folder."""
    try:
        config = MtLstmConfig.model_validate(files.json(CONFIG))
    except ValidationError as error:
        place, problem = next(problems(error))
        raise FormatError(f"{files.shown(CONFIG)}: {place}: {problem}") from error
    words = _read_words(files, config)
    where = files.shown(WEIGHTS)
    try:
        with files.open(WEIGHTS) as file:
            tensors = safetensors.torch.load(file.read())
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise FormatError(f"{where}: not a safetensors file, or a truncated one ({error})") from error
    network = assemble_network(lambda: MtLstm.from_config(config), expand(tensors, where=where), where=where)
    return Model(config, network, TableWords(words, case_backoff=config.case_backoff))


def write(model: Model, folder: Path, *, storage: Storage = "float32") -> None:
    """Write a CoVe model into a new folder, its weights as they are or rounded.

    Args:
        model: As `polyseme.models.mt_lstm.cove_model` makes it.
        folder: The folder, which must not exist.
        storage: The number type of large tensors in the file.
    """
    config, indexer = model.config, model.indexer
    if not isinstance(config, MtLstmConfig) or not isinstance(indexer, TableWords):
        raise InputError(f"the model ({config.source}) is not CoVe, which is needed here; give a CoVe model")
    for number, word in enumerate(indexer.words):
        if not fits_a_line(word):
            raise InputError(
                f"{folder}: word {number:,} is {word!r:.60}, which {WORDS} cannot hold (a line break, or half of a "
                "surrogate pair); leave it out"
            )
    tensors = {name: tensor.contiguous().cpu() for name, tensor in model.network.state_dict().items()}
    with whole_folder(folder) as target:
        settings = json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False)
        (target / CONFIG).write_text(settings + "\n", encoding="utf-8")
        safetensors.torch.save_file(compact(tensors, storage), target / WEIGHTS, metadata={"format": "pt"})
        (target / WEIGHTS).chmod(0o644)  # safetensors makes it readable by its owner only
        (target / WORDS).write_text("".join(f"{word}\n" for word in indexer.words), encoding="utf-8", newline="\n")
        (target / CARD).write_text(_card(config), encoding="utf-8")


def _read_words(files: Files, config: MtLstmConfig) -> list[str]:
    *words, after = files.text(WORDS).split("\n")
    if len(words) != config.words or after:
        raise FormatError(
            f"{files.where}: {WORDS} has {len(words):,} whole lines{' and a part of one' if after else ''}, but "
            f"{CONFIG} says {config.words:,} words; the file is damaged or truncated: get the folder again"
        )
    if len(set(words)) < len(words):
        twice = Counter(words).most_common(1)[0][0]
        raise FormatError(f"{files.shown(WORDS)}: the word {twice!r:.60} occurs twice; expected each word once")
    return words


def _card(config: MtLstmConfig) -> str:
    return (
        "# CoVe vectors for polyseme\n\n"
        f"The encoder of a translator: {config.layers} bidirectional LSTM layers of {config.hidden_dim} cells in each "
        f"direction over {config.words:,} static vectors of width {config.input_dim}.\n\n"
        f"Made from: {config.source}.\n\n"
        "```python\nimport polyseme\n\nsource = polyseme.load('path/to/this/folder')\n"
        "vectors = source.embed([['The', 'river', 'bank']], layers='top')\n```\n"
    )
