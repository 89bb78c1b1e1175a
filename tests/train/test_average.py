"""Averaged weights against their definition, and what a run does with them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from chains import MINI, Chain, write
from torch import nn

from polyseme.formats.detect import open_model
from polyseme.train.engine import checkpoint
from polyseme.train.engine.average import EVERY, Average
from polyseme.train.lm.evaluate import evaluate
from polyseme.train.lm.run import train


def _walk(average: Average, parameters: list[nn.Parameter], *, first: int, last: int) -> list[list[np.ndarray]]:
    """Change the weights at random; gives them after every update that is averaged."""
    kept = []
    for update in range(first, last + 1):
        generator = torch.Generator().manual_seed(update)
        with torch.no_grad():
            for parameter in parameters:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
        average.add(update)
        if update % EVERY == 0:
            kept.append([parameter.detach().numpy().astype(np.float64) for parameter in parameters])
    return kept


@pytest.mark.parametrize("share", [0.05, 0.2, 2 / 3])
def test_the_mean_is_that_of_the_definition_written_out(share: float) -> None:
    parameters = [nn.Parameter(torch.zeros(3, 2)), nn.Parameter(torch.zeros(4))]
    average = Average(parameters, share)
    kept = _walk(average, parameters, first=1, last=41 * EVERY + 3)
    exponent = 2 / share - 2
    weights = np.ones(len(kept))  # of each moment in the mean, the newest last
    for moment in range(1, len(kept) + 1):
        own = (exponent + 1) / (moment + exponent)
        weights[: moment - 1] *= 1 - own
        weights[moment - 1] = own
    assert weights.sum() == pytest.approx(1)
    raw = [parameter.detach().clone() for parameter in parameters]
    with average.in_place():
        for number, parameter in enumerate(parameters):
            expected = sum(weight * moment[number] for weight, moment in zip(weights, kept, strict=True))
            np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    assert all(torch.equal(parameter, before) for parameter, before in zip(parameters, raw, strict=True))


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_mean_is_as_old_as_that_over_the_last_share(share: float) -> None:
    parameter = nn.Parameter(torch.zeros(1))
    average = Average([parameter], share)
    last = 4000 * EVERY
    for update in range(EVERY, last + 1, EVERY):
        with torch.no_grad():
            parameter.fill_(update / last)  # the weight tells when it was
        average.add(update)
    with average.in_place():
        assert 1 - parameter.item() == pytest.approx(share / 2, rel=0.01)


def test_without_a_moment_the_weights_stay_and_a_mean_continues_from_its_state() -> None:
    parameter = nn.Parameter(torch.zeros(5))
    early = Average([parameter], 0.1)
    _walk(early, [parameter], first=1, last=EVERY - 1)
    before = parameter.detach().clone()
    with early.in_place():
        assert torch.equal(parameter, before)
    whole, first = Average([parameter], 0.1), Average([parameter], 0.1)
    _walk(whole, [parameter], first=1, last=9 * EVERY)
    _walk(first, [parameter], first=1, last=4 * EVERY + 1)
    second = Average([parameter], 0.1)
    second.restore(first.state())
    _walk(second, [parameter], first=4 * EVERY + 2, last=9 * EVERY)
    assert torch.equal(second.state()["means"][0], whole.state()["means"][0])


def test_a_run_measures_and_keeps_the_mean_and_trains_on_with_the_weights_themselves(tmp_path: Path) -> None:
    chain = Chain()
    text = write(tmp_path / "text.txt", chain.sentences(600, seed=1))
    held = chain.sentences(100, seed=2)
    heldout = write(tmp_path / "heldout.txt", held)
    settings = {**MINI, "updates": 40, "learning_rate": 0.05, "decay": "none", "softmax": "sampled"}
    plain = train([text], tmp_path / "plain", heldout=[heldout], **settings)
    averaged = train([text], tmp_path / "averaged", heldout=[heldout], average=0.3, **settings)
    measured = [evaluate(open_model(tmp_path / name), held).average for name in ("plain", "averaged")]
    assert [plain.score, averaged.score] == pytest.approx(measured, rel=1e-4)
    assert averaged.score is not None
    assert plain.score is not None
    assert averaged.score < 0.99 * plain.score  # at a constant high rate the weights jump about
    assert not (tmp_path / f"averaged.training/{checkpoint.FILE}").exists()
    lines = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("plain", "averaged")]
    losses = [[line.split('"loss"')[1].split(",")[0] for line in some if '"training"' in line] for some in lines]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 2
