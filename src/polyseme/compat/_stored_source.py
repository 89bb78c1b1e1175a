"""How a vector source is stored inside the folder of another library's model."""

from pathlib import Path

from polyseme.embed.embedder import Embedder
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError
from polyseme.formats import cove_folder, native
from polyseme.formats.detect import bundled_names
from polyseme.models.mt_lstm import MtLstm


def is_bundled(model: object) -> bool:
    """Whether a model is named as one that comes with the package and need not be stored."""
    return isinstance(model, str) and model in bundled_names()


def store_source(source: VectorSource, folder: Path) -> None:
    """Write what gives the vectors, without a softmax, as a new folder that `polyseme.load` opens.

    Raises:
        InputError: It is a combination of other sources.
    """
    if isinstance(source, StaticVectors):
        source.save(folder)
    elif not isinstance(source, Embedder):
        raise InputError(f"{source!r:.80} names other models and cannot be stored as one; store a single model")
    elif isinstance(source.model.network, MtLstm):
        cove_folder.write(source.model, folder)
    else:
        native.write(source.model.without_softmax(), folder)
