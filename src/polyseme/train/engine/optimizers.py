"""Optimisers: torch's own for most weights, and updates of single rows for a large softmax."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.models.bilm import BiLM
from polyseme.nn.softmax import FullSoftmax
from polyseme.train.lm.objective import RowGradient
from polyseme.train.lm.settings import Settings

_BETAS = (0.9, 0.99)
_EPSILON = 1e-8
_INITIAL_ACCUMULATOR = 1.0


class Optimizer:
    """Updates all trained weights of a network.

    Under sampling most rows of the softmax get no gradient in an update. Neither gradient nor update is then made for
    the whole table: a row's state moves only when the row takes part, and AdamW corrects each row's bias by the number
    of its own updates.
    """

    def __init__(self, bilm: BiLM, settings: Settings, *, by_rows: bool) -> None:
        self.settings = settings
        softmax = bilm.softmax if by_rows else None
        self.table = softmax if isinstance(softmax, FullSoftmax) else None
        skipped = set() if self.table is None else {id(parameter) for parameter in self.table.parameters()}
        self.dense = [p for p in bilm.parameters() if p.requires_grad and id(p) not in skipped]
        self._optimizer = _dense(self.dense, settings) if self.dense else None
        self._rows: dict[str, Tensor] = {}
        if self.table is not None:
            for name, parameter in (("weight", self.table.weight), ("bias", self.table.bias)):
                if settings.optimizer == "adagrad":
                    self._rows[f"{name}.sum"] = torch.full_like(parameter.detach(), _INITIAL_ACCUMULATOR)
                else:
                    self._rows[f"{name}.mean"] = torch.zeros_like(parameter.detach())
                    self._rows[f"{name}.square"] = torch.zeros_like(parameter.detach())
            self._rows["updates"] = torch.zeros(len(self.table.bias), device=self.table.bias.device)

    def step(self, rate: float, rows: RowGradient | None) -> None:
        """Apply the gradients of the dense weights, and those of the rows."""
        if self._optimizer is not None:
            for group in self._optimizer.param_groups:
                group["lr"] = rate
            self._optimizer.step()
            # A fused step does not count as a change of the weights, but caches of what comes from them go by that.
            torch.autograd.graph.increment_version(self.dense)
        if rows is not None and self.table is not None:
            self._rows["updates"][rows.rows] += 1
            self._update("weight", self.table.weight, rows.rows, rows.weight, rate)
            self._update("bias", self.table.bias, rows.rows, rows.bias, rate)

    @torch.no_grad()
    def _update(self, name: str, parameter: nn.Parameter, rows: Tensor, gradient: Tensor, rate: float) -> None:
        if self.settings.optimizer == "adagrad":
            total = self._rows[f"{name}.sum"][rows].addcmul_(gradient, gradient)
            self._rows[f"{name}.sum"][rows] = total
            parameter.index_add_(0, rows, gradient / (total.sqrt() + _EPSILON), alpha=-rate)
            return
        first, second = _BETAS
        mean = self._rows[f"{name}.mean"][rows].lerp_(gradient, 1 - first)
        square = self._rows[f"{name}.square"][rows].lerp_(gradient * gradient, 1 - second)
        self._rows[f"{name}.mean"][rows] = mean
        self._rows[f"{name}.square"][rows] = square
        times = self._rows["updates"][rows].reshape(-1, *[1] * (gradient.dim() - 1))
        step = (mean / (1 - first**times)) / ((square / (1 - second**times)).sqrt() + _EPSILON)
        if name == "weight":
            step += self.settings.weight_decay * parameter[rows]
        parameter.index_add_(0, rows, step, alpha=-rate)

    def state(self) -> dict[str, Any]:
        """Everything to go on from."""
        return {"dense": self._optimizer.state_dict() if self._optimizer else None, "rows": dict(self._rows)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        if self._optimizer is not None:
            self._optimizer.load_state_dict(state["dense"])
        for name, tensor in state["rows"].items():
            self._rows[name].copy_(tensor)


def _dense(parameters: Iterable[nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
    parameters = list(parameters)
    if settings.optimizer == "adagrad":
        return torch.optim.Adagrad(parameters, lr=0.0, initial_accumulator_value=_INITIAL_ACCUMULATOR, eps=_EPSILON)
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    given = [group for group in groups if group["params"]]
    return torch.optim.AdamW(given, lr=0.0, betas=_BETAS, eps=_EPSILON, fused=True)


def merge(gradients: list[RowGradient]) -> RowGradient | None:
    """The sum of several batches' gradients of rows."""
    if len(gradients) < 2:
        return gradients[0] if gradients else None
    rows, where = torch.unique(torch.cat([one.rows for one in gradients]), return_inverse=True)
    weight = gradients[0].weight.new_zeros(len(rows), gradients[0].weight.shape[1])
    weight.index_add_(0, where, torch.cat([one.weight for one in gradients]))
    bias = gradients[0].bias.new_zeros(len(rows))
    bias.index_add_(0, where, torch.cat([one.bias for one in gradients]))
    return RowGradient(rows, weight, bias)


def clip_norm(dense: list[nn.Parameter], rows: RowGradient | None, *, scale: float, limit: float) -> float:
    """Multiply all gradients by ``scale``, then shrink them so that their norm is at most ``limit``.

    Returns:
        The norm before it was shrunk.
    """
    gradients = [p.grad for p in dense if p.grad is not None]
    if rows is not None:
        gradients += [rows.weight, rows.bias]
    norms = torch.stack(torch._foreach_norm(gradients)).cpu().double()  # not every device has float64
    norm = float(norms.square().sum().sqrt()) * scale
    torch._foreach_mul_(gradients, scale * min(1.0, limit / (norm + 1e-6)))
    return norm
