"""The one function that gives an embedder."""

from pathlib import Path

import torch

from polyseme.embed.embedder import Embedder
from polyseme.formats.detect import open_model
from polyseme.models.model import ModelPath
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
) -> Embedder:
    """Load a model of any known format, ready to embed.

    Args:
        model: The name of a bundled model, a model folder, a zip, a weights file, a TensorFlow checkpoint's prefix, or
            ``(options, weights)``.
        precision: What the LSTMs compute in: bfloat16 and int8 are close to float32, and faster where the processor has
            instructions for them (AVX512-BF16, AVX512-VNNI).
        stateful: Carry state from batch to batch, as the original software does.
        device: Where to compute.
        softmax: An HDF5 file with the softmax, where it is apart; scores and substitutes need one.
        vocabulary: The softmax's words, one a line, where they are apart.
        batch_size: Sentences of a batch when stateful.
        batch_tokens: Tokens of a batch otherwise.
        cache_mib: Memory for the token vectors of words seen before.

    Example:
        >>> embedder = load("model/")  # doctest: +SKIP
        >>> embedder.embed([["The", "river", "bank"]])[0].shape  # doctest: +SKIP
        (3, 3, 1024)
    """
    opened = open_model(model, softmax=softmax, vocabulary=vocabulary)
    return Embedder(
        opened.to(device),
        precision=precision,
        stateful=stateful,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
        cache_mib=cache_mib,
    )
