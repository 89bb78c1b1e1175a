"""Reads and writes layer mixes learnt with a network: the file ``mixes.safetensors`` of its model folder.

For mix number k the file has ``k.weights`` (L,), ``k.gamma`` (1,) and ``k.layer_norm``, a single truth value.
"""

from collections.abc import Sequence
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.formats.files import Files
from polyseme.formats.safetensors_file import load_tensors
from polyseme.nn.scalar_mix import ScalarMix

MIXES = "mixes.safetensors"


def read(files: Files, *, layers: int) -> tuple[ScalarMix, ...]:
    """Read the mixes of a model folder; none if it has no file of mixes.

    Args:
        files: The model folder.
        layers: The number of layers of its network, which every mix must have.
    """
    if MIXES not in files.names:
        return ()
    where = files.shown(MIXES)
    tensors = load_tensors(files, MIXES, advice="; get the model again")
    count = len(tensors) // 3
    expected = {f"{number}.{part}" for number in range(count) for part in ("weights", "gamma", "layer_norm")}
    if set(tensors) != expected:
        raise FormatError(
            f"{where}: holds {', '.join(sorted(tensors)[:6])}; expected weights, gamma and layer_norm of each mix; get "
            "the model again"
        )
    return tuple(_mix(tensors, number, layers, where) for number in range(count))


def write(mixes: Sequence[ScalarMix], folder: Path) -> None:
    """Write mixes into a model folder."""
    tensors: dict[str, Tensor] = {}
    for number, mix in enumerate(mixes):
        tensors[f"{number}.weights"] = mix.weights.detach().cpu().float().contiguous()
        tensors[f"{number}.gamma"] = mix.gamma.detach().cpu().float().contiguous()
        tensors[f"{number}.layer_norm"] = torch.tensor(mix.layer_norm)
    safetensors.torch.save_file(tensors, folder / MIXES, metadata={"format": "pt"})
    (folder / MIXES).chmod(0o644)  # safetensors makes it readable by its owner only


def _mix(tensors: dict[str, Tensor], number: int, layers: int, where: str) -> ScalarMix:
    weights, gamma = tensors[f"{number}.weights"].float(), tensors[f"{number}.gamma"].float()
    if weights.shape != (layers,) or gamma.shape != (1,):
        raise FormatError(
            f"{where}: mix {number} has weights {tuple(weights.shape)} and gamma {tuple(gamma.shape)}, expected "
            f"({layers},) and (1,) for a model of {layers} layers; get the model again"
        )
    if not torch.isfinite(torch.cat([weights, gamma])).all():
        raise FormatError(f"{where}: mix {number} holds NaN or infinity; the file is damaged or its training diverged")
    mix = ScalarMix(layers, layer_norm=bool(tensors[f"{number}.layer_norm"].any()), initial_weights=weights.tolist())
    mix.gamma.data.copy_(gamma)
    return mix
