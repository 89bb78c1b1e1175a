"""One source of a combination, and whether sources can be combined."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyseme.arrays import Vectors
from polyseme.embed.embedder import Embedder
from polyseme.embed.layers import LayerChoice, check_choice
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError
from polyseme.models.combined_layers import How, Scale
from polyseme.models.mt_lstm import MtLstm
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.text.segmentation import Segmentation

ReducedLayers = Literal["mean", "top"] | int | Mapping[int, float]
"""How layers become one vector: a choice, or what each layer is multiplied by before they are added."""

_SHORTEST = np.float32(1e-30)
"""A shorter vector is not brought to unit length; zeros stay zeros."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CombinedPart:
    """One source of a combination.

    Attributes:
        source: Gives the vectors.
        layers: How its layers become one vector per token.
        weight: What its vectors are multiplied by; with ``scale="unit"`` this is their length.
        mean: (D_i), which is taken off first; None before `CombinedVectors.fit`.
        matrix: (D_i, D), which its vectors are multiplied by at last; None for none.
    """

    source: VectorSource
    layers: ReducedLayers
    weight: float = 1.0
    mean: Vectors | None = None
    matrix: Vectors | None = None

    @property
    def dim(self) -> int:
        """The width that it adds to the combination."""
        return self.source.dim if self.matrix is None else int(self.matrix.shape[1])

    def stream(self, sentences: Iterator[Sequence[str]]) -> Iterator[Vectors]:
        """One vector per token, before centring and scaling: (T, D_i) per sentence."""
        if not isinstance(self.layers, Mapping):
            return self.source.stream(sentences, layers=self.layers)
        weights = np.zeros(self.source.layers, dtype=np.float32)
        weights[list(self.layers)] = list(self.layers.values())
        every = self.source.stream(sentences, layers="all")
        return (np.einsum("l,ltd->td", weights, layers) for layers in every)

    def finish(self, vectors: Vectors, scale: Scale, *, centre: bool) -> Vectors:
        """Centre, scale and map the vectors (T, D_i) of a sentence; a vector of zeros stays as it is."""
        if centre and self.mean is not None:
            vectors = vectors - self.mean * vectors.any(axis=1, keepdims=True)
        if scale == "unit":
            lengths: Vectors = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _SHORTEST)
            vectors = vectors / lengths
        if self.weight != 1:
            vectors = vectors * np.float32(self.weight)
        return vectors if self.matrix is None else vectors @ self.matrix


def reduced(source: VectorSource, choice: LayerChoice | Mapping[int, float] | None) -> ReducedLayers:
    """How the layers of a source become one vector; None is the mean, or the top layer of CoVe."""
    if choice is None:
        cove = isinstance(source, Embedder) and isinstance(source.model.network, MtLstm)
        return "top" if cove or source.layers == 1 else "mean"
    if isinstance(choice, Mapping):
        for number in choice:
            check_choice(number, source.layers)
        if not choice:
            raise InputError(f"{source.name}: no layer has a weight; give at least one, as {{1: 0.3, 2: 0.7}}")
        return {int(number): float(weight) for number, weight in choice.items()}
    check_choice(choice, source.layers)
    if isinstance(choice, ScalarMix):
        if choice.layer_norm:
            raise InputError(f"{source.name}: a mix with layer norm cannot be combined; use one without, or weights")
        shares = (choice.gamma * choice.shares()).tolist()
        return dict(enumerate(shares))
    if choice == "all":
        raise InputError(f"{source.name}: a part has one vector per token; choose 'mean', 'top', a number or weights")
    return choice if isinstance(choice, str) else int(choice)


def check_parts(parts: Sequence[CombinedPart], how: How) -> None:
    """Refuse parts that do not fit together, or arrays that do not fit their part."""
    for number, part in enumerate(parts):
        name, dim = f"part {number} ({part.source.name})", part.source.dim
        numbers = [part.weight, *(part.layers.values() if isinstance(part.layers, Mapping) else ())]
        if not np.isfinite(numbers).all():
            raise InputError(f"{name}: its weights hold NaN or infinity; give finite numbers")
        if part.mean is not None and part.mean.shape != (dim,):
            raise InputError(f"{name}: its mean has the shape {part.mean.shape}, expected ({dim},)")
        if part.matrix is not None and (part.matrix.ndim != 2 or part.matrix.shape[0] != dim):
            raise InputError(f"{name}: its matrix has the shape {part.matrix.shape}, expected ({dim}, common width)")
    if how == "add" and len({part.dim for part in parts}) > 1:
        widths = ", ".join(f"{part.source.name} {part.dim}" for part in parts)
        raise InputError(f"vectors of different widths cannot be added ({widths}); give project= or use how='concat'")
    computed = {part.source.precision for part in parts if not isinstance(part.source, StaticVectors)}
    if len(computed) > 1:
        raise InputError(f"the parts compute in {' and '.join(sorted(computed))}; load all with one precision")


def common_segmentation(sources: Sequence[VectorSource]) -> Segmentation:
    """How raw text is tokenised for all of these sources: as those that record it do."""
    recorded = [source for source in sources if source.segmentation.tokenizer is not None]
    for source in recorded[1:]:
        if source.segmentation != recorded[0].segmentation:
            first = recorded[0]
            raise InputError(
                f"{first.name} learnt from text with {first.segmentation}, {source.name} from text with "
                f"{source.segmentation}; choose one for both: segmentation={first.name}.segmentation"
            )
    return recorded[0].segmentation if recorded else Segmentation()
