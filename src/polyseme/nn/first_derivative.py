"""Backward passes written by hand, which cannot be differentiated again."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import torch
from torch import Tensor

Backward = Callable[..., tuple[Tensor | None, ...]]
Ctx: TypeAlias = Any
"""What torch hands to an autograd function; it takes any attribute."""


class _FirstDerivative(torch.autograd.Function):
    """Passes a gradient on, and cannot be differentiated itself."""

    @staticmethod
    def forward(ctx: Ctx, gradient: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError(
            "second derivatives are asked for (create_graph=True) of a layer that has first derivatives only; leave it "
            "out, or, for the LSTM and the character filters, set POLYSEME_KERNELS=off so that torch computes them"
        )


def once_differentiable(backward: Backward) -> Backward:
    """Make differentiating a gradient again an error.

    Torch's decorator of this name does so only if the incoming gradient has a derivative; otherwise the result counts
    as a constant, and a penalty on it silently does nothing.
    """

    @wraps(backward)
    def guarded(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            results = backward(ctx, *gradients)
        if not torch.is_grad_enabled():  # the usual case: no graph of the gradients is wanted
            return results
        return tuple(
            one if one is None else _FirstDerivative.apply(one.detach().requires_grad_())  # type: ignore[no-untyped-call]
            for one in results
        )

    return guarded
