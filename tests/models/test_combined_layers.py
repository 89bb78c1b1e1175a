"""Combined layers beside plain sums, and what a task needs of them."""

import pytest
import torch
from torch import Tensor

from polyseme.errors import InputError
from polyseme.models.combined_layers import CombinedLayers, Part

MASK = torch.tensor([[True, True, True], [True, False, False]])


def layers(number: int, dim: int, seed: int = 0) -> list[Tensor]:
    torch.manual_seed(seed)
    return [torch.randn(2, 3, dim) * MASK.unsqueeze(-1) for _ in range(number)]


GLOVE = layers(1, 4, seed=1)
ELMO = layers(3, 6, seed=2)


def test_concat_is_the_static_vector_beside_the_mean_of_the_layers_before_training() -> None:
    parts = {"glove": Part(layers=1, dim=4), "elmo": Part(layers=3, dim=6)}
    combined = CombinedLayers(parts)
    result = combined({"glove": GLOVE, "elmo": ELMO}, MASK)["input"]
    expected = torch.cat([GLOVE[0], torch.stack(ELMO).mean(dim=0)], dim=-1)
    torch.testing.assert_close(result, expected)
    assert combined.dim("input") == 10


def test_the_bank_example_to_the_last_digit() -> None:
    h = [torch.tensor([[[0.2, 0.4, 0.1, 0.3]]]), torch.tensor([[[0.6, 0.1, 0.5, 0.2]]])]
    static = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    top = torch.full((1, 1, 4), 9.0)  # layer 0 of the network, which this sum leaves out
    parts = {
        "word": Part(layers=1, dim=4, outputs=("sum",)),
        "bilm": Part(layers=3, dim=4, use=(1, 2), given=(0.3, 0.7)),
    }
    combined = CombinedLayers(parts, outputs=("alone", "sum"), how="add")
    result = combined({"word": [static], "bilm": [top, *h]}, torch.ones(1, 1))
    torch.testing.assert_close(result["alone"][0, 0], torch.tensor([0.48, 0.19, 0.38, 0.23]), rtol=0, atol=1e-7)
    torch.testing.assert_close(result["sum"][0, 0], torch.tensor([1.48, 2.19, 3.38, 4.23]), rtol=0, atol=1e-6)


def test_two_outputs_have_separate_mixes_over_the_same_layers() -> None:
    parts = {"glove": Part(layers=1, dim=4, outputs=("input",)), "elmo": Part(layers=3, dim=6, use=(0, 2))}
    combined = CombinedLayers(parts, outputs=("input", "output"))
    mix = combined.get_submodule("mixes.output.elmo")
    with torch.no_grad():
        mix.get_parameter("weights").copy_(torch.tensor([0.0, 1.0]))
        mix.get_parameter("gamma").fill_(2.0)
    result = combined({"glove": GLOVE, "elmo": ELMO}, MASK)
    share = 1 / (1 + torch.exp(torch.tensor(1.0)))
    torch.testing.assert_close(result["input"][..., 4:], (ELMO[0] + ELMO[2]) / 2)
    torch.testing.assert_close(result["output"], 2 * (share * ELMO[0] + (1 - share) * ELMO[2]))
    first, second = combined.learned_mixes()
    assert (first.output, first.part, first.layers, first.shares, first.gamma) == (
        "input",
        "elmo",
        (0, 2),
        (0.5, 0.5),
        1,
    )
    assert second.to_dict()["output"] == "output"
    assert second.shares[0] == pytest.approx(share.item())
    assert second.gamma == 2.0
    # ||w||^2 of both mixes: 0 and 1
    assert combined.penalty(0.5).item() == pytest.approx(0.5)


def test_unit_scale_centres_and_gives_each_part_its_weight_as_length() -> None:
    means = torch.randn(1, 4)
    parts = {"glove": Part(layers=1, dim=4, means=means, weight=0.5), "elmo": Part(layers=3, dim=6, use="top")}
    combined = CombinedLayers(parts, scale="unit")
    glove = [GLOVE[0].clone()]
    glove[0][0, 1] = 0  # an unknown word
    result = combined({"glove": glove, "elmo": ELMO}, MASK)["input"]
    moved = glove[0] - means[0]
    expected = 0.5 * moved / moved.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(result[0, 0, :4], expected[0, 0])
    assert not result[0, 1, :4].any()
    torch.testing.assert_close(result[0, :, 4:].norm(dim=-1), torch.ones(3))
    assert not result[1, 1:].any()


def test_gamma_of_a_unit_mix_is_its_length_and_learns() -> None:
    combined = CombinedLayers({"elmo": Part(layers=3, dim=6)}, scale="unit")
    gamma = combined.get_submodule("mixes.input.elmo").get_parameter("gamma")
    with torch.no_grad():
        gamma.fill_(3.0)
    result = combined({"elmo": ELMO}, MASK)["input"]
    torch.testing.assert_close(result[0].norm(dim=-1), torch.full((3,), 3.0))
    result.sum().backward()
    assert gamma.grad is not None
    torch.testing.assert_close(gamma.grad, (result.sum() / 3).detach().reshape(1))


def test_project_maps_only_parts_of_another_width() -> None:
    parts = {"glove": Part(layers=1, dim=4), "elmo": Part(layers=3, dim=6, use=1)}
    combined = CombinedLayers(parts, how="add", project=4)
    matrix = combined.get_submodule("maps.input.elmo").get_parameter("weight")
    result = combined({"glove": GLOVE, "elmo": ELMO}, MASK)["input"]
    torch.testing.assert_close(result, GLOVE[0] + ELMO[1] @ matrix.T)
    assert combined.dim("input") == 4
    assert [name for name, _ in combined.named_parameters()] == ["maps.input.elmo.weight"]


def test_dropout_of_a_part_leaves_the_others_alone() -> None:
    parts = {"glove": Part(layers=1, dim=4), "elmo": Part(layers=3, dim=6, use="top", dropout=0.9)}
    combined = CombinedLayers(parts)
    given = {"glove": GLOVE, "elmo": ELMO}
    dropped = combined(given, MASK)["input"]
    torch.testing.assert_close(dropped[..., :4], GLOVE[0])
    assert not torch.allclose(dropped[..., 4:], ELMO[2])
    torch.testing.assert_close(combined.eval()(given, MASK)["input"][..., 4:], ELMO[2])


def test_a_state_dict_brings_mixes_maps_and_means_back() -> None:
    parts = {"elmo": Part(layers=3, dim=6, means=torch.randn(3, 6))}
    first, second = (CombinedLayers(parts, project=5) for _ in range(2))
    torch.nn.init.normal_(first.get_submodule("mixes.input.elmo").get_parameter("weights"))
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second({"elmo": ELMO}, MASK)["input"], first({"elmo": ELMO}, MASK)["input"])


@pytest.mark.parametrize(
    ("parts", "settings", "message"),
    [
        ({"a": Part(layers=1, dim=4)}, {"how": "join"}, "how is 'join', expected 'concat' or 'add'"),
        ({"a": Part(layers=1, dim=4)}, {"scale": "big"}, "scale is 'big', expected 'plain' or 'unit'"),
        ({"a.b": Part(layers=1, dim=4)}, {}, "'a.b' cannot be the name of a part or an output"),
        ({"a": Part(layers=2, dim=4, use=2)}, {}, "a: use is 2, expected layers from 0 to 1"),
        ({"a": Part(layers=2, dim=4, given=(1.0,))}, {}, "a: 1 given weights for 2 layers; give one for each"),
        ({"a": Part(layers=2, dim=4, means=torch.ones(4))}, {}, r"means of shape \(4,\), expected \(2, 4\)"),
        ({"a": Part(layers=2, dim=4, outputs=("end",))}, {}, "no part takes part in the output 'input'"),
        (
            {"a": Part(layers=1, dim=4), "b": Part(layers=1, dim=6)},
            {"how": "add"},
            r"different widths cannot be added \(a 4, b 6\); give project= or use 'concat'",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused(parts: dict[str, Part], settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CombinedLayers(parts, **settings)  # type: ignore[arg-type]


def test_layers_of_another_number_or_width_are_refused() -> None:
    combined = CombinedLayers({"elmo": Part(layers=3, dim=6)})
    with pytest.raises(InputError, match="layers of elmo: got 2 of width 6, 6, expected 3 of width 6"):
        combined({"elmo": ELMO[:2]}, MASK)
    with pytest.raises(InputError, match="layers of elmo: got nothing, expected 3 of width 6"):
        combined({}, MASK)
