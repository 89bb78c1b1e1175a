"""Which layers of a vector source to give: all of them, one, their mean or a learned mix."""

import copy
from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor

from polyseme.embed.choices import LAYER_NAMES, LayerName
from polyseme.errors import InputError
from polyseme.nn.scalar_mix import ScalarMix

LayerChoice = LayerName | int | ScalarMix
"""All layers, their mean, one of them, or a learned mix."""


def parse_choice(text: str) -> LayerChoice:
    """A choice as written on a command line; whether a model has that layer is checked later."""
    if text in LAYER_NAMES:
        return cast("LayerChoice", text)
    try:
        return int(text)
    except ValueError:
        raise InputError(f"unknown layer {text!r}; expected a layer's number, or 'all', 'mean', 'top'") from None


def check_choice(choice: LayerChoice, layers: int) -> None:
    """Refuse a choice that a model with this many layers cannot serve."""
    if isinstance(choice, ScalarMix):
        if len(choice.weights) != layers:
            raise InputError(
                f"the mix is of {len(choice.weights)} layers but there are {layers}; make one with ScalarMix({layers})"
            )
        return
    numbers = isinstance(choice, int | np.integer) and not isinstance(choice, bool)
    if (isinstance(choice, str) and choice in LAYER_NAMES) or (numbers and 0 <= int(choice) < layers):
        return
    known = ", ".join(map(str, range(layers)))
    raise InputError(f"unknown layer {choice!r}; expected one of {known}, or 'all', 'mean', 'top'")


def check_single(choice: LayerChoice, layers: int) -> Literal["mean", "top"] | int:
    """Refuse a choice that is not one vector per token, or that cannot be stored; gives it as JSON can hold it."""
    check_choice(choice, layers)
    if choice == "all" or isinstance(choice, ScalarMix):
        raise InputError("an occurrence has one vector; choose layers 'top', 'mean' or a layer's number")
    return choice if isinstance(choice, str) else int(choice)


def choose(layers: Sequence[Tensor], choice: LayerChoice) -> list[Tensor]:
    """Reduce all layers, each (N, D), to those asked for: every one for 'all', else a single one."""
    if choice == "all":
        return list(layers)
    if choice == "top":
        return [layers[-1]]
    if choice == "mean":
        return [torch.stack(list(layers)).mean(dim=0)]
    if isinstance(choice, ScalarMix):
        # Another device gets a copy: the caller's own mix may be in the hands of an optimiser.
        device = layers[0].device
        return [(choice if choice.weights.device == device else copy.deepcopy(choice).to(device))(layers)]
    return [layers[choice]]
