"""Linear and highway layers on rows, in the kernels where they can serve, and otherwise in torch."""

import torch
from torch import Tensor, nn

from polyseme.nn.backend import autocast_precision, backend_for
from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.rows import column_sums, highway_gate, highway_gradients


def linear(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``inputs`` (N, I) times ``weight`` (O, I), plus ``bias`` (O,): (N, O)."""
    if (precision := _kernel_precision(inputs, weight, bias)) is None:
        return nn.functional.linear(inputs, weight, bias)
    result: Tensor = _Linear.apply(inputs.float(), weight, bias, precision)  # type: ignore[no-untyped-call]
    return result


def highway(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """G * x + (1 - g) * relu(Wx + b) with g = sigmoid(W'x + b'); ``weight`` holds W and W': (N, F) to (N, F)."""
    if inputs.dim() == 2 and (precision := _kernel_precision(inputs, weight, bias)) is not None:
        result: Tensor = _Highway.apply(inputs.float(), weight, bias, precision)  # type: ignore[no-untyped-call]
        return result
    transform, gate = nn.functional.linear(inputs, weight, bias).chunk(2, dim=-1)
    carried = gate.sigmoid()
    return carried * inputs + (1 - carried) * transform.relu()


def _kernel_precision(*tensors: Tensor) -> Precision | None:
    """The precision of the kernel that computes this; None if torch does."""
    precision = autocast_precision(tensors[0].device.type)
    learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return precision if learns and backend_for(tensors[1:], precision, gradients=True) == "kernels" else None


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Ctx, inputs: Tensor, weight: Tensor, bias: Tensor, precision: Precision) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.precision = precision
        return product(inputs, weight.t(), precision, bias=bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        return *_gradients(ctx, gradients[0], inputs, weight), None


class _Highway(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Ctx, inputs: Tensor, weight: Tensor, bias: Tensor, precision: Precision) -> Tensor:
        inputs = inputs.contiguous()
        products = product(inputs, weight.t(), precision, bias=bias)  # (N, 2F)
        ctx.save_for_backward(inputs, weight, products)
        ctx.precision = precision
        return highway_gate(inputs, products)

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, products = ctx.saved_tensors
        carried, of_products = highway_gradients(inputs, products, gradients[0])
        return *_gradients(ctx, of_products, inputs, weight, add_to=carried), None


def _gradients(
    ctx: Ctx, given: Tensor, inputs: Tensor, weight: Tensor, add_to: Tensor | None = None
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of inputs, weight and bias from those of the products (N, O); ``add_to`` is added to the first."""
    wanted, precision = ctx.needs_input_grad, ctx.precision
    given = given.float()
    return (
        product(given, weight, precision, into=add_to, add=True) if wanted[0] else None,
        product(given.t(), inputs, precision) if wanted[1] else None,
        column_sums(given) if wanted[2] else None,
    )
