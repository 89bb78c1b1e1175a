"""The folder of a translator: config.json, model.safetensors, vocabulary.txt and, in ``cove``, its encoder.

``cove`` is a CoVe model folder of its own, which `polyseme.load` opens. It holds the static vectors of the source
words. The weights of the encoder are in both, so that each file is complete by itself at every moment of a training.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import safetensors
import safetensors.torch
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from polyseme.errors import FormatError, InputError, OutputError
from polyseme.files.json_file import check_record
from polyseme.files.whole import reason, whole_file, whole_folder, write_json, write_text
from polyseme.formats import cove_folder
from polyseme.formats.assemble import assemble_network
from polyseme.formats.files import Files
from polyseme.models.config import Rows, Size
from polyseme.models.model import Model
from polyseme.models.mt_lstm import MtLstm, cove_model
from polyseme.models.static import WordVectors
from polyseme.models.translation import TranslationModel
from polyseme.models.translator import Translator
from polyseme.text.choices import Tokenizer
from polyseme.text.segmentation import Segmentation
from polyseme.text.table_words import TableWords
from polyseme.text.vocabulary import Vocabulary

KIND = "polyseme translator"
CONFIG, WEIGHTS, VOCABULARY, CARD, COVE = (
    "config.json",
    "model.safetensors",
    "vocabulary.txt",
    "README.md",
    "cove",
)


class TranslatorConfig(BaseModel):
    """Everything needed to build a translator before its weights are read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["polyseme translator"] = "polyseme translator"
    version: Literal[1] = 1
    vector_dim: Size
    encoder_dim: Size
    encoder_layers: Size
    decoder_dim: Size
    vocabulary_size: Rows
    source_tokenize: Tokenizer | None = None
    target_tokenize: Tokenizer | None = None


def read(path: str | Path) -> TranslationModel:
    """Read the folder of a translator.

    Raises:
        InputError: There is no such folder, or it holds something else.
        FormatError: It is damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one that polyseme cove train wrote")
    files = Files.folder(folder)
    settings = files.json(CONFIG) if CONFIG in files.names else {}
    if settings.get("format") != KIND:
        raise InputError(f"{folder}: is not a translator; give a folder that polyseme cove train wrote")
    config = check_record(settings, TranslatorConfig, where=files.shown(CONFIG), advice="get the folder again")
    if not (folder / COVE).is_dir():
        raise FormatError(f"{folder / COVE}: missing; get the whole folder again")
    table = _table(cove_folder.read(Files.folder(folder / COVE)), folder / COVE)
    if table.dim != config.vector_dim:
        raise FormatError(
            f"{folder / COVE}: vectors of width {table.dim}, but {CONFIG} says {config.vector_dim}; get it again"
        )
    vocabulary = Vocabulary(files.text(VOCABULARY).split("\n")[:-1], where=files.shown(VOCABULARY))
    if len(vocabulary) != config.vocabulary_size:
        raise FormatError(
            f"{files.shown(VOCABULARY)}: {len(vocabulary):,} words but {CONFIG} says {config.vocabulary_size:,}"
        )
    source, target = Segmentation(config.source_tokenize), Segmentation(config.target_tokenize)
    return TranslationModel(_network(files, config), table, vocabulary, source, target)


def write(model: TranslationModel, folder: Path) -> None:
    """Write a translator into a new folder."""
    network = model.network
    config = TranslatorConfig(
        vector_dim=network.encoder.input_dim,
        encoder_dim=network.encoder.hidden_dim,
        encoder_layers=network.encoder.layers,
        decoder_dim=network.decoder.hidden_dim,
        vocabulary_size=len(model.vocabulary),
        source_tokenize=model.source.tokenizer,
        target_tokenize=model.target.tokenizer,
    )
    with whole_folder(folder) as target:
        write_json(target / CONFIG, config.model_dump(mode="json"), indent=2)
        write_text(target / VOCABULARY, "".join(f"{word}\n" for word in model.vocabulary.words))
        _save(network.state_dict(), target / WEIGHTS)
        cove_folder.write(encoder_of(model), target / COVE)


def replace_weights(model: TranslationModel, folder: Path) -> None:
    """Replace the weights in a folder that `write` wrote; each file is complete at every moment."""
    try:
        _save(model.network.state_dict(), folder / WEIGHTS)
        _save(encoder_of(model).network.state_dict(), folder / COVE / cove_folder.WEIGHTS)
    except OSError as error:
        raise OutputError(f"{folder}: the weights could not be replaced ({reason(error)})") from error


def encoder_of(model: TranslationModel) -> Model:
    """The encoder of a translator as a CoVe model; its weights are shared."""
    vectors = torch.from_numpy(np.asarray(model.table.matrix))
    lstm = model.network.encoder
    return cove_model(model.table.words, vectors, lstm, case_backoff=True, segmentation=model.source, source=KIND)


def _save(tensors: Mapping[str, Tensor], path: Path) -> None:
    with whole_file(path) as temporary:
        plain = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
        safetensors.torch.save_file(plain, temporary, metadata={"format": "pt"})
        temporary.chmod(0o644)  # safetensors makes it readable by its owner only


def _network(files: Files, config: TranslatorConfig) -> Translator:
    where = files.shown(WEIGHTS) if WEIGHTS in files.names else f"{files.where}/{WEIGHTS}"
    try:
        with files.open(WEIGHTS) as file:
            tensors = safetensors.torch.load(file.read())
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{where}: not a safetensors file, or a truncated one ({error})") from error

    def build() -> Translator:
        return Translator(
            vector_dim=config.vector_dim,
            encoder_dim=config.encoder_dim,
            encoder_layers=config.encoder_layers,
            decoder_dim=config.decoder_dim,
            vocabulary_size=config.vocabulary_size,
        )

    return assemble_network(build, tensors, where=where)


def _table(cove: Model, where: Path) -> WordVectors:
    """The static vectors of a CoVe model."""
    assert isinstance(cove.network, MtLstm)
    assert isinstance(cove.indexer, TableWords)
    matrix = cove.network.token_encoder.vectors.detach().numpy()
    return WordVectors(cove.indexer.words, matrix, source=str(where))
