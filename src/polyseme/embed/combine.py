"""The one function that combines vector sources: ``polyseme.combine``."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyseme.arrays import Vectors
from polyseme.embed.combined_part import CombinedPart, check_parts, common_segmentation, reduced
from polyseme.embed.combined_vectors import CombinedVectors
from polyseme.embed.inputs import Sentences
from polyseme.embed.layers import LayerChoice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.models.combined_layers import How, Scale
from polyseme.models.model import ModelPath
from polyseme.text.segmentation import Segmentation

Setting = TypeVar("Setting")


def combine(
    *sources: VectorSource | ModelPath,
    how: How = "concat",
    scale: Scale = "plain",
    layers: Sequence[LayerChoice | Mapping[int, float] | None] | None = None,
    weights: Sequence[float] | None = None,
    project: Sequence[ArrayLike | None] | None = None,
    centre: bool | None = None,
    fit: Sentences | None = None,
    segmentation: Segmentation | None = None,
) -> CombinedVectors:
    """Put vector sources side by side, or add them.

    Args:
        sources: What `load` gives or takes: static vectors, CoVe, ELMo, other combinations.
        how: ``"concat"``: [x; ELMo]. ``"add"``: E(x) + sum_j s_j h_j; all widths must be equal.
        scale: ``"plain"`` takes the vectors as they are, so that long ones drown the others; ``"unit"`` centres the
            vectors of each part and brings them to unit length.
        layers: For each source, how its layers become one vector: ``"mean"``, ``"top"``, a number, a `ScalarMix`, or
            weights: ``{1: 0.3, 2: 0.7}`` is 0.3 h_1 + 0.7 h_2. By default the mean, and the top layer of CoVe.
        weights: What each source's vectors are multiplied by, after they were brought to unit length.
        project: For each source a matrix (its width, common width) to map its vectors by, or None.
        centre: Whether to take the mean vector of each part off; by default with ``scale="unit"``. It is learnt from
            text by ``fit``.
        fit: Text to learn the mean vectors from, as `CombinedVectors.fit` takes it.
        segmentation: How raw text is tokenised; by default as the sources' own text was.

    Returns:
        A source of one layer, which can be saved, loaded and used wherever a source can.

    Example:
        >>> both = combine("english-small", "english-small", layers=["top", {1: 0.5, 2: 0.5}])
        >>> both.embed([["The", "river", "bank"]])[0].shape
        (3, 512)
    """
    for value, choices, name in ((how, get_args(How), "how"), (scale, get_args(Scale), "scale")):
        if value not in choices:
            raise InputError(f"{name} is {value!r}, expected {' or '.join(map(repr, choices))}")
    opened = [source if isinstance(source, VectorSource) else load(source) for source in sources]
    if not opened:
        raise InputError("nothing to combine; give at least one source")
    count = len(opened)
    settings = zip(
        opened,
        _each("layers", layers, count),
        _each("weights", weights, count),
        _each("project", project, count),
        strict=True,
    )
    parts = [
        CombinedPart(
            source=source,
            layers=reduced(source, choice),
            weight=1.0 if weight is None else float(weight),
            matrix=_matrix(matrix),
        )
        for source, choice, weight, matrix in settings
    ]
    check_parts(parts, how)
    combined = CombinedVectors(
        parts,
        how=how,
        scale=scale,
        centre=scale == "unit" if centre is None else centre,
        segmentation=segmentation or common_segmentation(opened),
    )
    return combined if fit is None else combined.fit(fit)


def _each(name: str, given: Sequence[Setting] | None, count: int) -> Sequence[Setting | None]:
    """A setting for each source, None where it is left out."""
    if given is None:
        return [None] * count
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != count:
        got = f"{len(given)} of them" if isinstance(given, Sequence) and not isinstance(given, str) else repr(given)
        raise InputError(f"{name}: got {got}, expected a list with one for each of {count} sources")
    return given


def _matrix(given: ArrayLike | None) -> Vectors | None:
    return None if given is None else np.asarray(given, dtype=np.float32)
