"""Optimisers: torch's own for most weights, Muon for matrices, and updates of single rows for a large table."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from polyseme.train.engine.checkpoint import State
from polyseme.train.engine.muon import LARGEST, Matrix, Muon
from polyseme.train.engine.row_gradient import RowGradient, RowTable
from polyseme.train.engine.settings import RunSettings

_BETAS = (0.9, 0.99)
_EPSILON = 1e-8
_INITIAL_ACCUMULATOR = 1.0


class Optimizer:
    """Updates all weights of a network that learn.

    Most rows of a large table get no gradient in an update. Neither gradient nor update is then made for the whole
    table: the state of a row changes only when the row takes part, and AdamW corrects the bias of each row's averages
    by the number of that row's own updates.

    Args:
        network: Whose parameters are updated, those that require gradients.
        settings: The run's.
        table: Parameters of the network that are updated by rows.
        matrices: Parameters of the network that are matrices between layers, for Muon.
        shares: Parameters whose rate is only this share of the run's.
    """

    def __init__(
        self,
        network: nn.Module,
        settings: RunSettings,
        table: RowTable | None = None,
        matrices: Sequence[Matrix] = (),
        *,
        shares: Mapping[nn.Parameter, float] | None = None,
    ) -> None:
        self.settings = settings
        self.table = table
        by_rows = set() if table is None else {id(table.weight), id(table.bias)}
        self.dense = [p for p in network.parameters() if p.requires_grad and id(p) not in by_rows]
        self._muon = Muon(
            _for_muon(matrices, settings, shares or {}),
            weight_decay=settings.weight_decay,
            dtype=torch.bfloat16 if settings.precision == "bfloat16" else torch.float32,
        )
        apart = {id(matrix.parameter) for matrix in self._muon.matrices}
        rest = [p for p in self.dense if id(p) not in apart]
        self._optimizer = _dense(rest, settings, shares or {}) if rest else None
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
        self._muon.step(rate)
        if self._optimizer is not None:
            for group in self._optimizer.param_groups:
                group["lr"] = rate * group.get("share", 1.0)
            self._optimizer.step()
            # Torch does not count a fused step as a change of the weights, but caches of what comes from them do.
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

    def state(self) -> State:
        """Everything that is needed to continue."""
        dense = self._optimizer.state_dict() if self._optimizer else None
        return {"dense": dense, "muon": self._muon.state(), "rows": dict(self._rows)}

    def restore(self, state: State) -> None:
        """Continue from what `state` gave."""
        if self._optimizer is not None:
            stored, own = state["dense"]["state"], self._optimizer.state_dict()
            self._check(stored)
            # The groups follow from the settings of the run and are never taken from a file.
            self._optimizer.load_state_dict({**own, "state": stored})
        self._muon.restore(state["muon"])
        for name, tensor in state["rows"].items():
            self._rows[name].copy_(tensor)

    def _check(self, stored: Mapping[int, Mapping[str, Tensor]]) -> None:
        """Refuse a state that the optimiser of torch would take now and stumble over later."""
        assert self._optimizer is not None
        adagrad = self.settings.optimizer == "adagrad"
        names = {"sum"} if adagrad else {"exp_avg", "exp_avg_sq"}
        parameters = [parameter for group in self._optimizer.param_groups for parameter in group["params"]]
        if adagrad and len(stored) != len(parameters):
            raise ValueError(f"the optimiser has the state of {len(stored)} of {len(parameters)} parameters")
        for number, values in stored.items():
            shapes = {"step": torch.Size(), **dict.fromkeys(names, parameters[number].shape)}
            found = {name: value.shape for name, value in values.items() if value.is_floating_point()}
            if found != shapes or values.keys() != shapes.keys():
                raise ValueError(f"the optimiser has another kind of state for parameter {number}")


def _for_muon(matrices: Sequence[Matrix], settings: RunSettings, shares: Mapping[nn.Parameter, float]) -> list[Matrix]:
    """The matrices that Muon updates: those with the rate of the run that are not too large."""
    if settings.optimizer != "muon":
        return []
    return [
        matrix
        for matrix in matrices
        if matrix.parameter.requires_grad and matrix.parameter not in shares and min(matrix.shape) <= LARGEST
    ]


def _dense(
    parameters: Iterable[nn.Parameter], settings: RunSettings, shares: Mapping[nn.Parameter, float]
) -> torch.optim.Optimizer:
    parameters = list(parameters)
    by_share: dict[float, list[nn.Parameter]] = {}
    for parameter in parameters:
        by_share.setdefault(shares.get(parameter, 1.0), []).append(parameter)
    if settings.optimizer == "adagrad":
        groups = [{"params": some, "share": share} for share, some in by_share.items()]
        return torch.optim.Adagrad(groups, lr=0.0, initial_accumulator_value=_INITIAL_ACCUMULATOR, eps=_EPSILON)
    groups = [
        {"params": [p for p in some if (p.dim() > 1) == decays], "weight_decay": decay, "share": share}
        for share, some in by_share.items()
        for decays, decay in ((True, settings.weight_decay), (False, 0.0))
    ]
    given = [group for group in groups if group["params"]]
    return torch.optim.AdamW(given, lr=0.0, betas=_BETAS, eps=_EPSILON, fused=True)


def clip_norm(dense: Sequence[nn.Parameter], rows: RowGradient | None, *, scale: float, limit: float) -> float:
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
