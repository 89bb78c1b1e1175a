from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import tiny_model

from polyseme.errors import FormatError
from polyseme.formats import native
from polyseme.formats.detect import open_model
from polyseme.formats.storage import compact, expand
from polyseme.models.bilm import BiLM

LARGE = torch.randn(300, 60, generator=torch.Generator().manual_seed(1)) * torch.logspace(-3, 2, 300).unsqueeze(1)


def test_eight_bits_are_off_by_at_most_half_a_level_of_their_row() -> None:
    stored = compact({"w": LARGE, "b": LARGE[0]}, "int8")
    assert stored["w"].dtype == torch.int8
    assert stored["b"].dtype == torch.float32
    back = expand(stored, where="file")
    level = LARGE.abs().amax(dim=1, keepdim=True) / 127
    assert ((back["w"] - LARGE).abs() <= level * 0.5001).all()
    assert torch.equal(back["b"], LARGE[0])
    assert back.keys() == {"w", "b"}


def test_a_row_of_zeros_and_kernels_of_three_dimensions() -> None:
    kernel = LARGE.view(300, 12, 5).clone()
    kernel[7] = 0
    back = expand(compact({"k": kernel}, "int8"), where="file")["k"]
    assert back.shape == kernel.shape
    assert (back[7] == 0).all()
    assert torch.cosine_similarity(back.flatten(), kernel.flatten(), dim=0) > 0.9999


def test_bfloat16_is_torchs() -> None:
    assert torch.equal(expand(compact({"w": LARGE}, "bfloat16"), where="file")["w"], LARGE.bfloat16().float())


def test_a_compact_model_is_small_and_nearly_the_same(tmp_path: Path) -> None:
    model = tiny_model()
    encoder = model.bilm_config.encoder.model_copy(update={"hidden_dim": 200})
    config = model.bilm_config.model_copy(update={"projection_dim": 100, "encoder": encoder})
    torch.manual_seed(1)
    wide = type(model)(config, BiLM.from_config(config), model.indexer, model.vocabulary)
    sizes = {}
    for storage in ("float32", "bfloat16", "int8"):
        native.write(wide, tmp_path / storage, storage=storage)
        sizes[storage] = (tmp_path / storage / native.WEIGHTS).stat().st_size
        for name, tensor in open_model(tmp_path / storage).bilm.state_dict().items():
            given = wide.bilm.state_dict()[name]
            assert (tensor - given).norm() <= 0.02 * given.norm()
    assert sizes["int8"] < sizes["bfloat16"] < sizes["float32"]


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_rows_without_their_scales_are_named(damage: str, tmp_path: Path) -> None:
    stored = compact({"w": LARGE}, "int8")
    if damage == "missing":
        del stored["w.scale"]
    else:
        stored["w.scale"] = stored["w.scale"][:-1]
    save_file(stored, tmp_path / "file")
    with pytest.raises(
        FormatError, match=r"file: w is stored as 8-bit rows but its w\.scale is not one number per row"
    ):
        expand(load_file(tmp_path / "file"), where="file")
