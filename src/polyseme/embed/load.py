"""The one function that opens anything that gives vectors."""

from pathlib import Path

import torch

from polyseme.embed.embedder import Embedder
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError
from polyseme.formats.detect import open_any, open_model, stored_path
from polyseme.models.model import Model, ModelPath
from polyseme.nn.choices import Precision


def load(
    model: ModelPath,
    *,
    precision: Precision = "float32",
    stateful: bool = False,
    device: str | torch.device = "cpu",
    softmax: str | Path | None = None,
    vocabulary: str | Path | None = None,
    batch_size: int = 64,
    batch_tokens: int = 8192,
    cache_mib: int = 256,
) -> VectorSource:
    """Load a model or static word vectors of any known format, ready to embed.

    Args:
        model: The name of a bundled model, a model folder, a zip, a weights file, a TensorFlow checkpoint's prefix,
            ``(options, weights)``; or static vectors: a GloVe, word2vec or fastText file, or a folder of word vectors.
        precision: The number type of the LSTMs: bfloat16 and int8 are close to float32, and faster if the processor
            has instructions for them (AVX512-BF16, AVX512-VNNI).
        stateful: Carry state from batch to batch, as the original software does.
        device: Where to compute.
        softmax: An HDF5 file with the softmax, if it is a separate file; scores and substitutes need one.
        vocabulary: The words of the softmax, one per line, if they are a separate file.
        batch_size: Sentences per batch when stateful.
        batch_tokens: Tokens per batch otherwise.
        cache_mib: Memory for the token vectors of words seen before.

    Returns:
        An `Embedder`, or `StaticVectors` for a file or folder of word vectors.

    Example:
        >>> embedder = load("english-small")
        >>> embedder.embed([["The", "river", "bank"]])[0].shape
        (3, 3, 256)
    """
    opened = open_any(model, softmax=softmax, vocabulary=vocabulary)
    if not isinstance(opened, Model):
        _refuse_for_static(model, precision=precision, stateful=stateful, device=device)
        return StaticVectors(opened, path=stored_path(model))
    return Embedder(
        opened.to(device),
        precision=precision,
        stateful=stateful,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
        cache_mib=cache_mib,
    )


def load_embedder(
    model: ModelPath,
    *,
    stateful: bool = False,
    device: str | torch.device = "cpu",
    softmax: str | Path | None = None,
    vocabulary: str | Path | None = None,
) -> Embedder:
    """Load a contextual model; as `load`, but static word vectors are refused."""
    return Embedder(open_model(model, softmax=softmax, vocabulary=vocabulary).to(device), stateful=stateful)


def _refuse_for_static(model: ModelPath, *, precision: Precision, stateful: bool, device: str | torch.device) -> None:
    """Refuse options that have no meaning for vectors that are looked up in a table."""
    chosen = {
        f"precision {precision!r}": precision != "float32",
        "stateful": stateful,
        f"device {str(device)!r}": torch.device(device).type != "cpu",
    }
    for option, given in chosen.items():
        if given:
            raise InputError(
                f"{model}: static word vectors are looked up in a table and not computed, so {option} has no meaning; "
                "leave it out"
            )
