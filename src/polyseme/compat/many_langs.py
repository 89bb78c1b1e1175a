"""`Embedder` of ELMoForManyLangs (``elmoformanylangs`` on PyPI)."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import torch

from polyseme.arrays import Vectors
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError
from polyseme.text.batching import checked


class Embedder:
    """Vectors of sentences from a model of any format, mainly for models of ELMoForManyLangs.

    The original carries LSTM state from batch to batch and runs batches in random order, so that the same text gets
    different vectors each time. Here that happens only with ``stateful=True``. Batches are then made as in the
    original: sentences sorted by length, longest first, divided into groups of ``batch_size``, and the groups shuffled
    by Python's `random`. With the same `random.seed` both give the same numbers; a call with at most ``batch_size``
    sentences does not depend on the seed.

    Args:
        model_dir: The model's folder, or the zip it came in. Its ``config_path`` is not needed.
        batch_size: Number of sentences per batch if stateful. Otherwise batches have a bounded number of tokens.
        stateful: Carry state from batch to batch, and from call to call, as the original does.

    Example:
        >>> embedder = Embedder("chinese-small")
        >>> embedder.sents2elmo([["今", "天", "天气", "真", "好"]])[0].shape
        (5, 256)
    """

    def __init__(self, model_dir: str | Path, batch_size: int = 64, *, stateful: bool = False) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}, expected at least 1")
        self.model_dir = model_dir
        self.batch_size = batch_size
        self.use_cuda = torch.cuda.is_available()  # as in the original
        self._embedder = load_embedder(model_dir, stateful=stateful, device="cuda" if self.use_cuda else "cpu")
        self.config: dict[str, object] = self._embedder.model.config.source_options or {}

    def sents2elmo(self, sents: Iterable[Sequence[str]], output_layer: int = -1) -> list[Vectors]:
        """The vectors of every token.

        Args:
            sents: Lists of tokens.
            output_layer: -1 for the mean of all layers, -2 for all of them, or the number of a layer: 0 is the token
                encoder, 1 and 2 are the LSTMs.

        Returns:
            One float32 array per sentence, in input order: (L, T, D) for -2, else (T, D).
        """
        layers = self._layers(output_layer)
        if not self._embedder.stateful:
            return self._embedder.embed(sents, layers=layers)
        sentences = list(checked(sents))
        order = sorted(range(len(sentences)), key=lambda position: -len(sentences[position]))
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        random.shuffle(batches)
        vectors: dict[int, Vectors] = {}
        for batch in batches:
            self._embedder.batch_size = len(batch)
            arrays = self._embedder.embed([sentences[position] for position in batch], layers=layers)
            vectors.update(zip(batch, arrays, strict=True))
        return [vectors[position] for position in range(len(sentences))]

    def _layers(self, output_layer: int) -> Literal["all", "mean"] | int:
        if output_layer == -1:
            return "mean"
        if output_layer == -2:
            return "all"
        if 0 <= output_layer < self._embedder.layers:
            return int(output_layer)
        raise InputError(
            f"output_layer is {output_layer}, expected 0 to {self._embedder.layers - 1} for one layer, -1 for the mean "
            "of all or -2 for all"
        )
