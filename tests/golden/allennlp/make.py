"""Runs AllenNLP 2.10.1 on tiny random weights and keeps what it computes.

    python tests/golden/allennlp/make.py allennlp-0.9.0-py3-none-any.whl

The wheel of 0.9.0, the last with an `ElmoEmbedder`, is only read. `../README.md` tells what to install and what each
array is. Shapes: B sentences, T tokens, L LSTM layers, D = 2 x projection_dim, d LSTM dim.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import stand_ins
import torch
import weights

stand_ins.install()

import elmo_embedder  # noqa: E402 - this and the next need the stand-ins
import elmo_module  # noqa: E402
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids  # noqa: E402
from allennlp.nn.util import remove_sentence_boundaries  # noqa: E402

HERE = Path(__file__).parent
Arrays = dict[str, Any]


def layers_of(module: _ElmoBiLm, ids: torch.Tensor, *, boundaries: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """All layers (L+1, B, T, D) and their mask (B, T), with or without the sentence boundaries."""
    output = module(ids)
    if boundaries:
        return torch.stack(output["activations"]), output["mask"]
    stripped = [remove_sentence_boundaries(layer, output["mask"]) for layer in output["activations"]]
    return torch.stack([layer for layer, _ in stripped]), stripped[0][1]


def stateless(module: _ElmoBiLm, batches: list[list[list[str]]]) -> Arrays:
    """Every batch from a fresh state, and every sentence alone from a fresh state."""
    lstm = module._elmo_lstm
    out: Arrays = {}
    for i, batch in enumerate(batches):
        ids = batch_to_ids(batch)
        lstm.reset_states()
        layers, mask = layers_of(module, ids, boundaries=False)
        lstm.reset_states()
        layers_kept, mask_kept = layers_of(module, ids, boundaries=True)
        alone = torch.zeros_like(layers)
        for row, sentence in enumerate(batch):
            lstm.reset_states()
            one, _ = layers_of(module, batch_to_ids([sentence]), boundaries=False)
            alone[:, row, : len(sentence)] = one[:, 0]
        out |= {
            f"ids/batch{i}": ids,
            f"stateless/batch{i}/layers": layers,
            f"stateless/batch{i}/mask": mask,
            f"stateless/batch{i}/layers_with_boundaries": layers_kept,
            f"stateless/batch{i}/mask_with_boundaries": mask_kept,
            f"alone/batch{i}/layers": alone,
        }
    return out


def stateful(module: _ElmoBiLm, batches: list[list[list[str]]]) -> Arrays:
    """All batches in order, twice through, the state never reset; and the state after each pass."""
    module._elmo_lstm.reset_states()
    out = {}
    for number in (1, 2):
        for i, batch in enumerate(batches):
            out[f"stateful/pass{number}/batch{i}/layers"], _ = layers_of(module, batch_to_ids(batch), boundaries=False)
        hidden, memory = module._elmo_lstm._states
        # forward half, then backward half: (L, B, D) and (L, B, 2d), B the largest batch so far
        out |= {f"stateful/pass{number}/hidden": hidden.clone(), f"stateful/pass{number}/memory": memory.clone()}
    return out


@contextmanager
def counted_clips(out: Arrays) -> Iterator[None]:
    """Count the values that the clips change; a cell calls them in turn, the memory's first."""
    clamp, calls, counts = torch.clamp, 0, np.zeros((2, 2))

    def counting(tensor: torch.Tensor, low: float, high: float) -> torch.Tensor:
        nonlocal calls
        counts[calls % 2] += int((tensor.abs() > high).sum()), tensor.numel()
        calls += 1
        return clamp(tensor, low, high)

    torch.clamp = counting  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.clamp = clamp
    out["clipped/cell"], out["clipped/projection"] = counts[:, 0] / counts[:, 1]


def save(path: Path, arrays: Arrays) -> None:
    """Write arrays and tensors as a compressed npz."""
    plain = {k: v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v) for k, v in arrays.items()}
    np.savez_compressed(path, allow_pickle=False, **plain)


def main(old_wheel: Path) -> None:
    """Write everything in this folder but the sentences."""
    batches = json.loads((HERE / "sentences.json").read_text(encoding="utf-8"))
    odd_tokens = json.loads((HERE / "odd_tokens.json").read_text(encoding="utf-8"))
    models = (("two_layers", weights.TWO_LAYERS, 12, batches), ("three_layers", weights.THREE_LAYERS, 13, batches[:2]))
    for name, options, seed, some in models:
        weights.write(HERE / name, options, seed)
        module = _ElmoBiLm(str(HERE / name / "options.json"), str(HERE / name / "weights.hdf5"))
        arrays = stateless(module, some)
        with counted_clips(arrays):
            arrays |= stateful(module, some)
        save(HERE / f"{name}.npz", arrays)
    elmo = elmo_module.arrays(HERE / "two_layers", batches)
    save(HERE / "elmo.npz", {"ids/odd_tokens": batch_to_ids([odd_tokens]), **elmo, **elmo_module.scalar_mix()})
    embedder = elmo_embedder.arrays(old_wheel, HERE / "two_layers", HERE / "embed_file", batches)
    save(HERE / "elmo_embedder.npz", embedder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
