"""Writes tiny random biLM weights in the bilm-tf HDF5 format."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Options = dict[str, Any]

TWO_LAYERS: Options = {
    "lstm": {
        "dim": 16,
        "projection_dim": 8,
        "n_layers": 2,
        "cell_clip": 3,
        "proj_clip": 3,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "embedding": {"dim": 4},
        "filters": [[1, 4], [2, 8], [3, 16], [4, 8]],
        "n_highway": 2,
        "n_characters": 262,
        "max_characters_per_token": 50,
        "activation": "relu",
    },
}
THREE_LAYERS: Options = {
    "lstm": {
        "dim": 10,
        "projection_dim": 6,
        "n_layers": 3,
        "cell_clip": 2.0,
        "proj_clip": 1.5,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "embedding": {"dim": 3},
        "filters": [[1, 3], [2, 4], [5, 6]],
        "n_highway": 1,
        "n_characters": 262,
        "max_characters_per_token": 50,
        "activation": "tanh",
    },
}


def tensors(options: Options, seed: int) -> dict[str, np.ndarray]:
    """Draw every tensor of a model, by its name in the file."""
    rng = np.random.default_rng(seed)

    def draw(scale: float, *shape: int) -> np.ndarray:
        return rng.normal(0.0, scale, shape).astype(np.float32)

    characters, lstm = options["char_cnn"], options["lstm"]
    c, d, p = characters["embedding"]["dim"], lstm["dim"], lstm["projection_dim"]
    n_filters = sum(n for _, n in characters["filters"])
    out = {"char_embed": draw(1.0, 261, c)}
    for i, (width, n) in enumerate(characters["filters"]):
        out[f"CNN/W_cnn_{i}"] = draw(0.6 / width**0.5, 1, width, c, n)
        out[f"CNN/b_cnn_{i}"] = draw(0.3, n) - 1.0  # so that the activation is not always on
    for i in range(characters["n_highway"]):
        for name in ("carry", "transform"):
            out[f"CNN_high_{i}/W_{name}"] = draw(0.3, n_filters, n_filters)
            out[f"CNN_high_{i}/b_{name}"] = draw(0.5, n_filters)
    out["CNN_proj/W_proj"] = draw(0.3, n_filters, p)
    out["CNN_proj/b_proj"] = draw(0.2, p)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            recurrent = draw(0.15, p, 4 * d)
            out[f"{cell}/W_0"] = np.concatenate([draw(0.4, p, 4 * d), recurrent])
            bias = draw(0.3, 4, d)  # rows: input, candidate, forget, output
            # The first two cells fill up or empty at nearly 1 a step, so that the clip on the cell is met.
            bias[:, :2] += np.array([[2, 2], [2, -2], [2, 2], [1, 1]], dtype=np.float32)
            out[f"{cell}/B"] = bias.reshape(-1)
            out[f"{cell}/W_P_0"] = draw(0.8, d, p)
    return out


def write(folder: Path, options: Options, seed: int) -> None:
    """Write `options.json` and `weights.hdf5` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
    with h5py.File(folder / "weights.hdf5", "w", libver="latest") as file:  # a third smaller
        for name, tensor in tensors(options, seed).items():
            file.create_dataset(name, data=tensor)
