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
            "create_graph=True asks for second derivatives, but this layer has first derivatives only; leave "
            "create_graph out, or, for the LSTM and the token encoder, set POLYSEME_KERNELS=off to use torch"
        )


def once_differentiable(backward: Backward) -> Backward:
    """Raise an error if a gradient is differentiated again.

    Torch's decorator of the same name does so only if the incoming gradient has a derivative; otherwise it treats the
    result as a constant, and a penalty on it silently does nothing.
    """

    @wraps(backward)
    def guarded(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            results = backward(ctx, *gradients)
        if not torch.is_grad_enabled():  # the usual case: no graph of the gradients is needed
            return results
        return tuple(
            one if one is None else _FirstDerivative.apply(one.detach().requires_grad_())  # type: ignore[no-untyped-call]
            for one in results
        )

    return guarded
