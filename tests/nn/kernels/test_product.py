"""Products, softmax, sums and gates of the kernels against torch; the same bits with any number of threads."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from polyseme.nn.backend import available
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.rows import column_sums, highway_gate, highway_gradients, softmax_gradients
from polyseme.nn.kernels.threads import set_threads

SHAPES = [(1, 1, 1), (5, 3, 7), (6, 64, 64), (97, 33, 65), (200, 515, 130), (500, 300, 1100)]


@pytest.fixture(autouse=True)
def own_threads() -> Iterator[None]:
    yield
    set_threads(None)


def matrix(rows: int, columns: int, *, transposed: bool, dtype: torch.dtype) -> Tensor:
    made = torch.randn(columns, rows).t() if transposed else torch.randn(rows, columns)
    return made.to(dtype)


def needs(precision: Precision) -> None:
    if not available(precision):
        pytest.skip(f"no {precision} kernel on this machine")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize(("precision", "dtype"), [("float32", 0), ("bfloat16", 0), ("bfloat16", 1)])
def test_a_product_is_that_of_float64(
    shape: tuple[int, int, int], transposed: tuple[bool, bool], precision: Precision, dtype: int
) -> None:
    needs(precision)
    torch.manual_seed(0)
    rows, depth, columns = shape
    kind = torch.bfloat16 if dtype else torch.float32
    one = matrix(rows, depth, transposed=transposed[0], dtype=kind)
    two = matrix(depth, columns, transposed=transposed[1], dtype=kind)
    bias, given = torch.randn(columns), torch.randn(rows, columns)
    rounded = [each.to(getattr(torch, precision)).double() for each in (one, two)]
    exact = rounded[0] @ rounded[1]
    found = {}
    for threads in (1, 2, 3, 7):
        set_threads(threads)
        sums = given.clone()
        product(one, two, precision, into=sums, add=True)
        found[threads] = product(one, two, precision, bias=bias), sums
    torch.testing.assert_close(found[1][0].double(), exact + bias, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(found[1][1].double(), exact + given, atol=1e-4, rtol=1e-5)
    for threads in (2, 3, 7):
        assert all(torch.equal(ours, first) for ours, first in zip(found[threads], found[1], strict=True)), threads


def test_views_of_any_strides() -> None:
    needs("float32")
    one, two = torch.randn(40, 60)[::2, ::3], torch.randn(1, 20).expand(20, 20)
    torch.testing.assert_close(product(one, two, "float32"), one @ two, atol=1e-5, rtol=0)
    column, row = torch.randn(30, 5)[:, 2:3], torch.randn(5, 30)[2:3]
    torch.testing.assert_close(product(column, row, "float32"), column @ row)
    torch.testing.assert_close(product(row, column, "float32"), row @ column, atol=1e-5, rtol=0)
    room = torch.zeros(8, 30)
    product(torch.ones(8, 3), torch.ones(3, 7), "float32", into=room[:, 5:12])
    assert room[:, 5:12].eq(3).all()
    assert room.sum() == 8 * 7 * 3


def test_matrices_that_do_not_fit_are_refused() -> None:
    needs("float32")
    with pytest.raises(ValueError, match=r"got matrices \(2, 3\) and \(4, 5\), which cannot be multiplied"):
        product(torch.ones(2, 3), torch.ones(4, 5), "float32")
    with pytest.raises(ValueError, match=r"got torch.float32 \(2, 5\) for a product of shape \(2, 4\) in float32"):
        product(torch.ones(2, 3), torch.ones(3, 4), "float32", into=torch.ones(2, 5))


@pytest.mark.parametrize("columns", [1, 15, 16, 133, 1100])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_softmax_and_its_gradient_are_those_of_autograd(columns: int, precision: Precision) -> None:
    needs(precision)
    torch.manual_seed(columns)
    rows, dtype = 21, getattr(torch, precision)
    logits = (torch.randn(rows, columns) * 4).requires_grad_()
    target = torch.randint(0, columns, (rows,))
    wanted = logits.log_softmax(dim=1)[torch.arange(rows), target]
    (-wanted).sum().backward()
    for threads in (1, 3):
        set_threads(threads)
        gradients = torch.empty(rows, columns, dtype=dtype)
        found = softmax_gradients(logits.detach().clone(), target, gradients, precision)
        torch.testing.assert_close(found, wanted.detach(), atol=3e-6, rtol=1e-6)
        assert logits.grad is not None
        torch.testing.assert_close(gradients, logits.grad.to(dtype), atol=1e-6, rtol=1e-2 if columns > 1 else 0)


def test_targets_beside_the_columns_and_a_column_left_out() -> None:
    needs("float32")
    torch.manual_seed(1)
    logits, own = torch.randn(4, 37), torch.randn(4)
    left_out = torch.tensor([-1, 0, 36, 5])
    joined = torch.cat([logits, own.unsqueeze(1)], dim=1)
    for row, column in enumerate(left_out.tolist()):
        if column >= 0:
            joined[row, column] = -torch.inf
    shares = torch.empty(4, 37)
    found = softmax_gradients(logits.clone(), left_out, shares, "float32", own=own)
    torch.testing.assert_close(found, joined.log_softmax(dim=1)[:, -1], atol=2e-6, rtol=0)
    torch.testing.assert_close(shares, joined.softmax(dim=1)[:, :-1], atol=1e-6, rtol=0)


def test_what_is_not_a_number_stays_so_and_a_wrong_target_is_refused() -> None:
    needs("float32")
    logits = torch.zeros(2, 20)
    logits[1, 3] = torch.nan
    found = softmax_gradients(logits, torch.tensor([1, 2]), torch.empty(2, 20), "float32")
    assert found.isnan().tolist() == [False, True]
    with pytest.raises(IndexError, match=r"targets must be within 0\.\.19"):
        softmax_gradients(logits, torch.tensor([1, 20]), torch.empty(2, 20), "float32")


@pytest.mark.parametrize("dim", [3, 16, 37])
def test_the_gate_of_a_highway_layer(dim: int) -> None:
    needs("float32")
    torch.manual_seed(dim)
    inputs, products = torch.randn(19, dim).requires_grad_(), torch.randn(19, 2 * dim).requires_grad_()
    made, gate = products.chunk(2, dim=1)
    wanted = gate.sigmoid() * inputs + (1 - gate.sigmoid()) * made.relu()
    given = torch.randn(19, dim)
    wanted.backward(given)
    torch.testing.assert_close(highway_gate(inputs.detach(), products.detach()), wanted.detach(), atol=1e-6, rtol=1e-5)
    found = highway_gradients(inputs.detach(), products.detach(), given)
    for ours, leaf in zip(found, (inputs, products), strict=True):
        assert leaf.grad is not None
        torch.testing.assert_close(ours, leaf.grad, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("columns", [1, 17, 1500])
def test_sums_of_columns(columns: int) -> None:
    needs("float32")
    values = torch.randn(50, columns + 3)[:, 1 : columns + 1]
    torch.testing.assert_close(column_sums(values), values.sum(dim=0), atol=1e-5, rtol=1e-5)
    if available("bfloat16"):
        half = values.bfloat16()
        torch.testing.assert_close(column_sums(half), half.float().sum(dim=0), atol=1e-5, rtol=1e-5)
