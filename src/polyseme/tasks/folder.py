"""The folder of a task model: how it is written, and read without trust."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import safetensors.torch
import torch
from pydantic import BaseModel, ConfigDict
from safetensors import SafetensorError
from torch import Tensor

from polyseme.errors import FormatError, InputError
from polyseme.files.json_file import read_json, read_record
from polyseme.files.whole import JSON, reason, whole_file, whole_folder, write_json
from polyseme.formats import native
from polyseme.models.model import ModelPath
from polyseme.tasks.blueprint import Blueprint
from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Example
from polyseme.tasks.inputs import source_part
from polyseme.tasks.kinds import kind_of
from polyseme.tasks.lexicon import Lexicon
from polyseme.tasks.model import Ex, TaskModel
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.sources import SourceRecord, TaskSource, reopen
from polyseme.tasks.tuned import TunedNetwork
from polyseme.text.choices import Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation

CONFIG, WEIGHTS, LABELS, WORDS, CARD = "config.json", "model.safetensors", "labels.json", "words.json", "README.md"
_ROWS = "trained_rows."


class TaskConfig(BaseModel):
    """What ``config.json`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["polyseme-task"] = "polyseme-task"
    version: Literal[1] = 1
    task: TaskName
    settings: TaskSettings
    sources: list[SourceRecord]
    tokenize: Tokenizer | None = None
    dictionary: list[str] | None = None


def write(blueprint: Blueprint[Ex], model: TaskModel[Ex], folder: Path) -> None:
    """Write a model into a new folder."""
    cut = blueprint.segmentation
    config = TaskConfig(
        task=blueprint.kind.name,
        settings=blueprint.settings,
        sources=_records(blueprint),
        tokenize=cut.tokenizer,
        dictionary=cut.dictionary.words if cut.dictionary else None,
    )
    with whole_folder(folder) as target:
        write_json(target / CONFIG, config.model_dump(mode="json"), indent=2)
        write_json(target / LABELS, {name: [*values] for name, values in blueprint.tables.items()}, indent=1)
        write_json(target / WORDS, [*blueprint.lexicon.words])
        write_weights(blueprint, model, target / WEIGHTS)
        for name, network in tuned_networks(model).items():
            native.write(network.model(), target / name)


def replace_weights(blueprint: Blueprint[Ex], model: TaskModel[Ex], folder: Path) -> None:
    """Replace the weights in a folder. Those of tuned networks are in both files; the task reads its own."""
    write_weights(blueprint, model, folder / WEIGHTS)
    for name, network in tuned_networks(model).items():
        native.write_weights(network.model(), folder / name / native.WEIGHTS)


def tuned_networks(model: TaskModel[Ex]) -> dict[str, TunedNetwork]:
    """The networks that learnt with the task, by the name of their folder."""
    return {name: one for name, one in model.inputs.tuned.items() if isinstance(one, TunedNetwork)}


def _records(blueprint: Blueprint[Ex]) -> list[SourceRecord]:
    """How the folder names the sources; those that learnt are in it."""
    found = [one.record() for one in blueprint.sources]
    return [
        one.model_copy(update={"path": source_part(number)}) if one.tuned else one for number, one in enumerate(found)
    ]


def write_weights(blueprint: Blueprint[Ex], model: TaskModel[Ex], path: Path) -> None:
    """Write the weights, or replace those in a folder; the file is whole at every moment."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    for number, one in enumerate(blueprint.sources):
        if one.trained is not None:
            tensors[_ROWS + source_part(number)] = torch.from_numpy(one.trained)
    with whole_file(path) as temporary:
        safetensors.torch.save_file(tensors, temporary, metadata={"format": "pt"})
        temporary.chmod(0o644)  # safetensors makes it readable by its owner only


def read(folder: Path, *, vectors: Sequence[ModelPath] | None = None) -> tuple[Blueprint[Example], TaskModel[Example]]:
    """Read a model, with the vector sources that it was trained with.

    Args:
        folder: What `write` wrote.
        vectors: Where the sources are now, in their order, if they are no longer where they were.

    Raises:
        InputError: There is no such folder, or a source has changed.
        FormatError: A file is damaged.
    """
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder}: no {CONFIG} is there; give the folder of a model that polyseme task train wrote")
    advice = "fetch the folder again, or train again"
    config = read_record(folder / CONFIG, TaskConfig, advice=advice)
    if vectors is not None and len(vectors) != len(config.sources):
        raise InputError(f"{folder}: has {len(config.sources)} vector sources, got {len(vectors)}; give one for each")
    tensors = _tensors(folder / WEIGHTS, advice)
    paths = [None] * len(config.sources) if vectors is None else list(vectors)
    sources = [
        TaskSource(reopen(record, path, where=str(folder)), _rows(tensors, number, record, folder), record.tuned)
        for number, (record, path) in enumerate(zip(config.sources, paths, strict=True))
    ]
    blueprint = Blueprint(
        kind=kind_of(config.task),
        settings=config.settings,
        tables=_lists(folder / LABELS, advice),
        lexicon=Lexicon(_strings(read_json(folder / WORDS, advice=advice), folder / WORDS, advice)),
        sources=sources,
        segmentation=Segmentation(config.tokenize, Dictionary(config.dictionary) if config.dictionary else None),
    )
    return blueprint, _filled(blueprint, tensors, folder / WEIGHTS, advice)


def _filled(blueprint: Blueprint[Example], tensors: dict[str, Tensor], path: Path, advice: str) -> TaskModel[Example]:
    """The model of a blueprint with stored weights."""
    try:
        model = blueprint.build()
        model.load_state_dict(tensors)
    except (RuntimeError, LookupError, ValueError) as error:
        raise FormatError(f"{path}: does not fit {CONFIG} ({reason(error)[:200]}); {advice}") from error
    return model.eval()


def _tensors(path: Path, advice: str) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise FormatError(f"{path}: not a safetensors file, or a damaged one ({reason(error)}); {advice}") from error


def _rows(tensors: dict[str, Tensor], number: int, record: SourceRecord, folder: Path) -> "np.ndarray | None":
    """The rows of a static source that learnt, taken out of the tensors."""
    rows = tensors.pop(_ROWS + source_part(number), None)
    if rows is None:
        return None
    array = rows.numpy()
    if array.dtype != np.int64 or array.ndim != 1 or len(array) != record.rows or (np.diff(array) <= 0).any():
        raise FormatError(f"{folder / WEIGHTS}: the rows of {record.path} that learnt are damaged; train again")
    return array


def _lists(path: Path, advice: str) -> dict[str, list[str]]:
    value = read_json(path, advice=advice)
    if not isinstance(value, dict):
        raise FormatError(f"{path}: holds a {type(value).__name__} where a JSON object is expected; {advice}")
    return {name: _strings(one, path, advice) for name, one in value.items()}


def _strings(value: JSON, path: Path, advice: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise FormatError(f"{path}: holds something else than lists of words; {advice}")
    return [str(one) for one in value]
