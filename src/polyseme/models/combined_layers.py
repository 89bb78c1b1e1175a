"""Layers of several vector sources combined for a task: side by side or added, once for each place that asks.

A task names its outputs, usually ``"input"`` and ``"output"`` of its own encoder. Each source is run once; every output
has its own learned mix of each source's layers. Shapes: B sentences, T tokens, D_i width of part i, L_i its layers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.nn.scalar_mix import Regulariser, ScalarMix

How = Literal["concat", "add"]
Scale = Literal["plain", "unit"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one source gives to a combination.

    Attributes:
        layers: How many layers it has; 1 for static vectors, which are used as they are.
        dim: The width of each layer.
        use: ``"mix"`` learns a mix of all layers, a tuple of numbers one of those; ``"top"`` or a number is one layer.
        given: Fixed weights of the used layers, instead of a learned mix: sum_j given_j h_j.
        outputs: The outputs it takes part in; all if None. Static vectors are usually for a task's input only.
        weight: What its vectors are multiplied by; with ``scale="unit"`` this is their length.
        means: The mean vector of each layer, (L, D), which is taken off first; zeros, as of an unknown word, stay.
        dropout: On its vectors, while training.
        layer_norm: Normalise the layers before they are mixed.
    """

    layers: int
    dim: int
    use: Literal["mix", "top"] | int | tuple[int, ...] = "mix"
    given: tuple[float, ...] | None = None
    outputs: tuple[str, ...] | None = None
    weight: float = 1.0
    means: Tensor | None = None
    dropout: float = 0.0
    layer_norm: bool = False

    def used_layers(self) -> tuple[int, ...]:
        """The numbers of the layers that are used."""
        if self.use == "mix":
            return tuple(range(self.layers))
        if self.use == "top":
            return (self.layers - 1,)
        return (self.use,) if isinstance(self.use, int) else tuple(self.use)


@dataclass(frozen=True)
class LearnedMix:
    """What a task has learnt about the layers of one part."""

    output: str
    part: str
    layers: tuple[int, ...]
    """The numbers of the layers."""
    shares: tuple[float, ...]
    """The share of each layer; they sum to 1."""
    gamma: float
    """What the mix is multiplied by."""

    def to_dict(self) -> dict[str, object]:
        """The mix as JSON values."""
        return {**asdict(self), "layers": [*self.layers], "shares": [*self.shares]}


class CombinedLayers(nn.Module):
    """Combines the layers of its parts into one vector per token for each output.

    Args:
        parts: Each part by its name; concatenation is in this order.
        outputs: The names of the outputs.
        how: ``"concat"`` puts the parts side by side; ``"add"`` adds them: E(x) + sum_j s_j h_j.
        scale: ``"unit"`` brings every part's vectors to unit length, times its weight and the gamma of its mix.
        project: Map every part of another width to this one by a learned matrix, before it is joined or added.
        dropout: On the combined vectors, while training.

    Example:
        >>> parts = {"glove": Part(layers=1, dim=2, outputs=("input",)), "elmo": Part(layers=3, dim=4)}
        >>> combined = CombinedLayers(parts, outputs=("input", "output"))
        >>> layers = {"glove": [torch.ones(1, 5, 2)], "elmo": [torch.ones(1, 5, 4)] * 3}
        >>> {name: tuple(vectors.shape) for name, vectors in combined(layers, torch.ones(1, 5)).items()}
        {'input': (1, 5, 6), 'output': (1, 5, 4)}
    """

    def __init__(
        self,
        parts: Mapping[str, Part],
        *,
        outputs: Sequence[str] = ("input",),
        how: How = "concat",
        scale: Scale = "plain",
        project: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check(parts, outputs, how, scale)
        self.parts = dict(parts)
        self.outputs = tuple(outputs)
        self.how = how
        self.scale = scale
        self.project = project
        self.dropout = nn.Dropout(dropout)
        self.mixes = nn.ModuleDict({output: nn.ModuleDict() for output in outputs})
        self.maps = nn.ModuleDict({output: nn.ModuleDict() for output in outputs})
        for name, part in parts.items():
            means = None if part.means is None else part.means.detach().clone().float()
            self.register_buffer(f"means_{name}", means)
        for output in outputs:
            self._add_output(output)

    def dim(self, output: str) -> int:
        """The width of an output."""
        widths = [self.project or part.dim for part in self._parts_of(output).values()]
        return widths[0] if self.how == "add" else sum(widths)

    def forward(self, layers: Mapping[str, Sequence[Tensor]], mask: Tensor) -> dict[str, Tensor]:
        """Combine a batch.

        Args:
            layers: The layers of each part, (B, T, D_i) each.
            mask: (B, T), true at tokens.

        Returns:
            One (B, T, dim) per output, zero at padding.
        """
        centred = {name: self._centred(name, layers) for name in self.parts}
        kept = mask.unsqueeze(-1)
        combined: dict[str, Tensor] = {}
        for output in self.outputs:
            vectors = [self._vectors(output, name, centred[name], mask) for name in self._parts_of(output)]
            joined = torch.cat(vectors, dim=-1) if self.how == "concat" else torch.stack(vectors).sum(dim=0)
            combined[output] = self.dropout(joined * kept.to(joined.dtype))
        return combined

    def penalty(self, l2: float, *, kind: Regulariser = "weights") -> Tensor:
        """A term to add to the loss that keeps every learned mix near the mean of its layers; see `ScalarMix`."""
        terms = [mix.penalty(l2, kind=kind) for _, _, mix in self._learned()]
        return torch.stack(terms).sum() if terms else torch.zeros(())

    def learned_mixes(self) -> list[LearnedMix]:
        """The shares of the layers and the gamma that every output has learnt for every part."""
        return [
            LearnedMix(output, name, self.parts[name].used_layers(), tuple(mix.shares().tolist()), mix.gamma.item())
            for output, name, mix in self._learned()
        ]

    def _add_output(self, output: str) -> None:
        """Make the mixes and maps of an output, and refuse widths that cannot be added."""
        mixes, maps = self.mixes[output], self.maps[output]
        assert isinstance(mixes, nn.ModuleDict)
        assert isinstance(maps, nn.ModuleDict)
        parts = self._parts_of(output)
        if self.how == "add" and self.project is None and len({part.dim for part in parts.values()}) > 1:
            widths = ", ".join(f"{name} {part.dim}" for name, part in parts.items())
            raise InputError(f"parts of different widths cannot be added ({widths}); give project= or use 'concat'")
        for name, part in parts.items():
            if len(part.used_layers()) > 1 and part.given is None:
                mixes[name] = ScalarMix(len(part.used_layers()), layer_norm=part.layer_norm)
            if self.project is not None and part.dim != self.project:
                maps[name] = nn.Linear(part.dim, self.project, bias=False)

    def _parts_of(self, output: str) -> dict[str, Part]:
        """The parts that an output is made of, in order."""
        return {name: part for name, part in self.parts.items() if part.outputs is None or output in part.outputs}

    def _learned(self) -> list[tuple[str, str, ScalarMix]]:
        found = []
        for output, mixes in self.mixes.items():
            assert isinstance(mixes, nn.ModuleDict)
            found += [(output, name, mix) for name, mix in mixes.items() if isinstance(mix, ScalarMix)]
        return found

    def _centred(self, name: str, layers: Mapping[str, Sequence[Tensor]]) -> list[Tensor]:
        """The used layers of a part, without their means."""
        part = self.parts[name]
        given = layers.get(name)
        if given is None or len(given) != part.layers or any(layer.shape[-1] != part.dim for layer in given):
            got = "nothing" if given is None else f"{len(given)} of width {', '.join(str(h.shape[-1]) for h in given)}"
            raise InputError(f"layers of {name}: got {got}, expected {part.layers} of width {part.dim}")
        means = getattr(self, f"means_{name}")
        used = part.used_layers()
        return [given[j] if means is None else take_off(given[j], means[j]) for j in used]

    def _vectors(self, output: str, name: str, layers: list[Tensor], mask: Tensor) -> Tensor:
        """What a part gives to an output: (B, T, D_i), or the projected width."""
        part = self.parts[name]
        size: float | Tensor = part.weight
        if part.given is not None:
            vectors = torch.stack([share * layer for share, layer in zip(part.given, layers, strict=True)]).sum(dim=0)
        elif len(layers) == 1:
            vectors = layers[0]
        else:
            mix = self.get_submodule(f"mixes.{output}.{name}")
            assert isinstance(mix, ScalarMix)
            vectors = mix(layers, mask)
            if self.scale == "unit":  # gamma remains what it is: the size of this part
                size = mix.gamma.abs() * size
        if self.scale == "unit":
            vectors = nn.functional.normalize(vectors, dim=-1)
        vectors = nn.functional.dropout(vectors * size, part.dropout, self.training)
        if self.project is not None and part.dim != self.project:
            vectors = self.get_submodule(f"maps.{output}.{name}")(vectors)
        return vectors


def take_off(vectors: Tensor, mean: Tensor) -> Tensor:
    """Vectors (..., D) without their mean (D); a vector of zeros, which is no vector, stays as it is."""
    return vectors - mean * (vectors != 0).any(dim=-1, keepdim=True)


def _check(parts: Mapping[str, Part], outputs: Sequence[str], how: str, scale: str) -> None:
    """Refuse what cannot be combined, before anything is made."""
    for value, choices, name in ((how, get_args(How), "how"), (scale, get_args(Scale), "scale")):
        if value not in choices:
            raise InputError(f"{name} is {value!r}, expected {' or '.join(map(repr, choices))}")
    for name in (*parts, *outputs):
        if not name or "." in name:
            raise InputError(f"{name!r} cannot be the name of a part or an output; use one without a dot")
    for output in outputs:
        if not any(part.outputs is None or output in part.outputs for part in parts.values()):
            raise InputError(f"no part takes part in the output {output!r}; name it in the outputs of at least one")
    for name, part in parts.items():
        _check_part(name, part, outputs)


def _check_part(name: str, part: Part, outputs: Sequence[str]) -> None:
    used = part.used_layers()
    if not used or not all(0 <= number < part.layers for number in used):
        raise InputError(f"{name}: use is {part.use!r}, expected layers from 0 to {part.layers - 1}")
    if part.given is not None and len(part.given) != len(used):
        raise InputError(f"{name}: {len(part.given)} given weights for {len(used)} layers; give one for each")
    if part.means is not None and part.means.shape != (part.layers, part.dim):
        shape = tuple(part.means.shape)
        raise InputError(f"{name}: means of shape {shape}, expected ({part.layers}, {part.dim}), one per layer")
    if unknown := set(part.outputs or ()) - set(outputs):
        raise InputError(f"{name}: takes part in {sorted(unknown)[0]!r}, which is none of {', '.join(outputs)}")
