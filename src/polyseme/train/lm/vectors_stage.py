"""The stage before training in which static word vectors become the first weights of a model."""

from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch
from numpy.typing import NDArray

from polyseme.errors import FormatError, InputError, OutputError
from polyseme.files.whole import reason, whole_file
from polyseme.formats import word_vectors
from polyseme.models.model import Model
from polyseme.models.static import WordVectors
from polyseme.nn.softmax import FullSoftmax
from polyseme.progress import Figure, Watcher
from polyseme.text.characters import WholeWords
from polyseme.train.engine.distributed import World
from polyseme.train.engine.precision import with_precision
from polyseme.train.lm.settings import LmSettings
from polyseme.train.lm.static_start import StaticStart
from polyseme.train.lm.teach import teach
from polyseme.train.lm.text_store import END

FILE = "beginning.safetensors"
"""The weights that a run begins with instead of random ones."""


def check_vectors(vectors: str | None, settings: LmSettings, *, starts_from_model: bool) -> None:
    """Refuse settings that do not go together.

    Raises:
        InputError: With what to do.
    """
    if vectors is None:
        if settings.word_input != "none":
            raise InputError(
                f"word_input {settings.word_input!r} reads static vectors; give them with --vectors, or leave it out"
            )
    elif starts_from_model:
        raise InputError(
            f"{vectors}: static vectors are for a model that begins with random weights; leave out --vectors or --from"
        )


def read_vectors(path: str, settings: LmSettings) -> WordVectors:
    """Read static vectors.

    Raises:
        InputError: They do not fit into a token table of this width.
    """
    vectors = word_vectors.read(Path(path))
    if settings.word_input != "none" and vectors.dim > settings.projection_dim:
        raise InputError(
            f"{path}: vectors of {vectors.dim} numbers do not fit into projection_dim {settings.projection_dim}; use "
            f"--projection-dim {vectors.dim}"
        )
    return vectors


def begin_with_vectors(
    folder: Path,
    model: Model,
    static: StaticStart,
    counts: NDArray[np.int64],
    settings: LmSettings,
    watcher: Watcher,
) -> None:
    """Set or teach the token encoder, set the rows of a full softmax, and write both into a folder."""
    bilm, indexer, vocabulary = model.bilm, model.indexer, model.vocabulary
    known = counts[static.rows >= 0].sum() / max(1, counts[END + 1 :].sum())
    figures: dict[str, Figure] = {"tokens with a vector": f"{known:.1%}"}
    if isinstance(bilm.softmax, FullSoftmax) and vocabulary is not None:
        static.set_rows(bilm.softmax, vocabulary)
    if isinstance(indexer, WholeWords):
        static.set_table(bilm, indexer)
    elif settings.teaching_updates:
        chosen = with_precision(settings, World(device=torch.device(settings.device)))
        figures["explained"] = f"{teach(bilm.token_encoder, static, counts, indexer, chosen, watcher):.1%}"
    watcher.result("static vectors", figures)
    tensors = {n: t.contiguous() for n, t in bilm.state_dict().items() if not n.startswith("encoder.")}
    try:
        with whole_file(folder / FILE) as temporary:
            safetensors.torch.save_file(tensors, temporary)
    except (OSError, safetensors.SafetensorError) as error:
        raise OutputError(f"{folder / FILE}: could not be written ({reason(error)})") from error


def load_beginning(folder: Path, model: Model, *, advice: str) -> None:
    """Give a model the weights that `begin_with_vectors` wrote.

    Raises:
        FormatError: The file is missing, damaged or of another model.
    """
    path = folder / FILE
    try:
        tensors = safetensors.torch.load_file(path)
        missing, unexpected = model.bilm.load_state_dict(tensors, strict=False)
    except (OSError, RuntimeError, safetensors.SafetensorError) as error:
        raise FormatError(f"{path}: not as it was written ({reason(error)[:200]}); {advice}") from error
    if unexpected or any(not name.startswith("encoder.") for name in missing):
        raise FormatError(f"{path}: not the weights of this run's model; {advice}")
