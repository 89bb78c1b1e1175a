"""A classifier in the textbook's manner: the masked mean of ELMo vectors, then two linear layers."""

from pathlib import Path

import pytest
import torch
from conftest import GOLDEN
from torch import Tensor, nn

from polyseme import Elmo, batch_to_ids

MODEL = GOLDEN / "allennlp" / "two_layers"
# The same word in two senses: money on the left, water on the right.
SENTENCES = [
    [["the", "bank", place], [place, "near", "a", "bank"], ["this", "old", "bank", "and", place]][kind]
    for place in ("loan", "cash", "vault", "river", "mud", "shore")
    for kind in range(3)
]
LABELS = torch.tensor([0] * 9 + [1] * 9)


class ElmoMLP(nn.Module):
    def __init__(self, *, requires_grad: bool) -> None:
        super().__init__()
        self.elmo = Elmo(MODEL / "options.json", MODEL / "weights.hdf5", 1, dropout=0.1, requires_grad=requires_grad)
        self.hidden = nn.Linear(self.elmo.get_output_dim(), 16)
        self.output = nn.Linear(16, 2)

    def forward(self, ids: Tensor) -> Tensor:
        result = self.elmo(ids)
        vectors, mask = result["elmo_representations"][0], result["mask"].unsqueeze(-1)
        mean = (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        logits: Tensor = self.output(torch.relu(self.hidden(mean)))
        return logits


@pytest.mark.parametrize("requires_grad", [False, True])
def test_trains_saves_and_loads(requires_grad: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = ElmoMLP(requires_grad=requires_grad)
    ids = batch_to_ids(SENTENCES)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model.train()(ids), LABELS)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    model.eval()
    accuracy = (model(ids).argmax(dim=1) == LABELS).float().mean()
    assert accuracy > 0.9
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(before[name], parameter)}
    assert {"elmo.scalar_mix_0.weights", "elmo.scalar_mix_0.gamma"} <= moved
    assert any("network" in name for name in moved) == requires_grad

    torch.save(model.state_dict(), tmp_path / "model.pt")
    again = ElmoMLP(requires_grad=requires_grad)
    again.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert torch.equal(again.eval()(ids), model(ids))
