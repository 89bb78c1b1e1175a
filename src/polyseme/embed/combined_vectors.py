"""Several vector sources as one: their vectors side by side or added, each part brought to one layer first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import tee
from pathlib import Path

import numpy as np
import torch

from polyseme.arrays import Vectors
from polyseme.embed.combined_part import CombinedPart
from polyseme.embed.inputs import Sentences, token_lists
from polyseme.embed.layers import LayerChoice, check_choice, choose
from polyseme.embed.part_record import part_config
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.checksum import digest
from polyseme.files.lock import locked
from polyseme.formats import combination
from polyseme.formats.combination import Combination, CombinationConfig
from polyseme.models.combined_layers import How, Scale
from polyseme.nn.choices import Precision
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.text.batching import checked
from polyseme.text.segmentation import Segmentation


class CombinedVectors(VectorSource):
    """A source of one layer that is made of other sources; `polyseme.combine` makes it.

    `embed` and `stream` give that layer alone, (T, D), unless ``layers="all"`` asks for (1, T, D). All sources read the
    same sentences side by side; the sentences in memory are those of the source that reads furthest ahead.

    Args:
        parts: The sources, each with its settings.
        how: ``"concat"`` or ``"add"``.
        scale: ``"plain"`` or ``"unit"``.
        centre: Whether the mean vector of each part is taken off first.
        segmentation: How raw text is tokenised.
        path: Where it was opened or saved.
    """

    layers = 1

    def __init__(
        self,
        parts: Sequence[CombinedPart],
        *,
        how: How,
        scale: Scale,
        centre: bool,
        segmentation: Segmentation,
        path: str | None = None,
    ) -> None:
        self.parts = tuple(parts)
        self.how: How = how
        self.scale: Scale = scale
        self.centre = centre
        self.segmentation = segmentation
        self.path = path
        self.dim = self.parts[0].dim if how == "add" else sum(part.dim for part in self.parts)
        self.stateful = any(part.source.stateful for part in self.parts)
        # Static vectors are always float32; all parts that are computed have the same.
        computed: Iterator[Precision] = (part.source.precision for part in self.parts)
        self.precision = next((kind for kind in computed if kind != "float32"), "float32")

    def __repr__(self) -> str:
        names = ", ".join(part.source.name for part in self.parts)
        return f"CombinedVectors({names}; how={self.how!r}, scale={self.scale!r}, dim={self.dim})"

    def fit(self, sentences: Sentences) -> "CombinedVectors":
        """Learn the mean vector of each part from text; returns itself.

        Args:
            sentences: Lists of tokens, or one raw text; a few thousand sentences like those to come are enough.
        """
        sums = [np.zeros(part.source.dim) for part in self.parts]
        counts = [0] * len(self.parts)
        for rows in self._side_by_side(sentences):
            for number, vectors in enumerate(rows):
                known = vectors.any(axis=1)
                sums[number] += vectors[known].sum(axis=0, dtype=np.float64)
                counts[number] += int(known.sum())
        for part, count in zip(self.parts, counts, strict=True):
            if not count:
                raise InputError(f"{part.source.name}: knows no word of the text to fit on; give other text")
        means = [(total / count).astype(np.float32) for total, count in zip(sums, counts, strict=True)]
        self.parts = tuple(replace(part, mean=mean) for part, mean in zip(self.parts, means, strict=True))
        self.path = None  # what was saved or opened has other means
        return self

    def embed(self, sentences: Sentences, *, layers: LayerChoice = "top") -> list[Vectors]:
        """The vector of every token: one float32 array per sentence, (T, D), or (1, T, D) for ``"all"``."""
        return list(self.stream(sentences, layers=layers))

    def stream(self, sentences: Sentences, *, layers: LayerChoice = "top") -> Iterator[Vectors]:
        """As `embed`, lazily; see `VectorSource`."""
        check_choice(layers, self.layers)
        self._check_fitted()
        return (self._chosen(self._joined(rows), layers) for rows in self._side_by_side(sentences))

    def fingerprint(self) -> str:
        """A short checksum of the parts and of how they are combined."""
        segments = [f"{self.how} {self.scale} {self.centre}\n".encode()]
        for part in self.parts:
            layers = sorted(part.layers.items()) if isinstance(part.layers, Mapping) else part.layers
            arrays = {"mean": part.mean if self.centre else None, "matrix": part.matrix}
            given = {name: array for name, array in arrays.items() if array is not None}
            segments.append(f"{part.source.fingerprint()} {layers} {part.weight} {[*given]}\n".encode())
            segments += [np.ascontiguousarray(array, dtype="<f4").tobytes() for array in given.values()]
        return digest(segments)

    def save(self, folder: str | Path) -> None:
        """Write a new folder that names the parts, completely or not at all; the parts stay where they are."""
        target = Path(folder)
        self._check_fitted()
        described = Combination(
            CombinationConfig(
                how=self.how,
                scale=self.scale,
                centre=self.centre,
                tokenize=self.segmentation.tokenizer,
                dictionary=tuple(self.segmentation.dictionary.words) if self.segmentation.dictionary else None,
                parts=tuple(part_config(part.source, part.layers, part.weight, target) for part in self.parts),
            ),
            means={n: part.mean for n, part in enumerate(self.parts) if part.mean is not None and self.centre},
            maps={n: part.matrix for n, part in enumerate(self.parts) if part.matrix is not None},
            folder=target,
        )
        with locked(target):
            combination.write(described, target)
        self.path = str(target.absolute())

    def _check_fitted(self) -> None:
        if self.centre and any(part.mean is None for part in self.parts):
            raise InputError(
                "the parts are to be centred, but their mean vectors are not known; call fit(sentences) with some text "
                "first, or combine with centre=False"
            )

    def _side_by_side(self, sentences: Sentences) -> Iterator[tuple[Vectors, ...]]:
        """The vectors of each part, sentence by sentence.

        All parts advance by one sentence at a time, so that the sentences that wait for a part are at most those that
        another has read ahead, which is bounded.
        """
        read = tee(checked(token_lists(sentences, self.segmentation)), len(self.parts))
        return zip(*(part.stream(some) for part, some in zip(self.parts, read, strict=True)), strict=True)

    def _joined(self, rows: tuple[Vectors, ...]) -> Vectors:
        """The vectors of a sentence, one array per part, as one: (T, D)."""
        finished = [
            part.finish(vectors, self.scale, centre=self.centre) for part, vectors in zip(self.parts, rows, strict=True)
        ]
        if self.how == "concat":
            return np.concatenate(finished, axis=1)
        total = finished[0].copy()
        for vectors in finished[1:]:
            total += vectors
        return total

    def _chosen(self, vectors: Vectors, layers: LayerChoice) -> Vectors:
        """The one layer (T, D) as it is asked for."""
        if isinstance(layers, ScalarMix):
            mixed: Vectors = choose([torch.from_numpy(vectors)], layers)[0].detach().numpy()
            return mixed
        return vectors[np.newaxis] if layers == "all" else vectors
