import torch

from polyseme import ScalarMix
from polyseme.embed.layers import choose


def test_a_mix_stays_where_its_owner_has_it() -> None:
    mix = ScalarMix(2)
    weights = mix.weights
    layers = [torch.ones(3, 4, device="meta"), torch.zeros(3, 4, device="meta")]
    (mixed,) = choose(layers, mix)
    assert mixed.device.type == "meta"
    assert mix.weights is weights
    assert {parameter.device.type for parameter in mix.parameters()} == {"cpu"}
    (mixed,) = choose([torch.ones(3, 4), torch.zeros(3, 4)], mix)
    torch.testing.assert_close(mixed.detach(), torch.full((3, 4), 0.5))
