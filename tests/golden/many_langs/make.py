"""Runs ELMoForManyLangs 0.0.4.post2 on tiny random weights and keeps what it computes.

    python tests/golden/many_langs/make.py

`../README.md` tells what to install and what each array is. Shapes: T tokens, L LSTM layers, D = 2 x projection_dim.
"""

import json
import logging
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

# Its `@overrides` is refused by overrides 7, which compares the signatures too.
overrides = ModuleType("overrides")
overrides.overrides = lambda method: method  # type: ignore[attr-defined]
sys.modules["overrides"] = overrides
logging.getLogger("elmoformanylangs").setLevel(logging.ERROR)

import elmoformanylangs.elmo as peer  # noqa: E402
from elmoformanylangs.frontend import Model  # noqa: E402
from elmoformanylangs.modules.embedding_layer import EmbeddingLayer  # noqa: E402

HERE = Path(__file__).parent
Arrays = dict[str, Any]
Settings = dict[str, Any]

WORDS_AND_CHARACTERS: Settings = {
    "encoder": {"name": "elmo", "projection_dim": 8, "cell_clip": 3, "proj_clip": 3, "dim": 16, "n_layers": 2},
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 4], [2, 6], [3, 8]],
        "n_highway": 2,
        "word_dim": 6,
        "char_dim": 5,
        "max_characters_per_token": 12,
    },
    "classifier": {"name": "sampled_softmax", "n_samples": 64},
    "dropout": 0.1,
}
CHARACTERS: Settings = {
    "encoder": {"name": "elmo", "projection_dim": 6, "cell_clip": 2, "proj_clip": 2, "dim": 10, "n_layers": 2},
    "token_embedder": WORDS_AND_CHARACTERS["token_embedder"]
    | {"activation": "tanh", "word_dim": 0, "n_highway": 1, "max_characters_per_token": 50},
    "classifier": {"name": "sampled_softmax", "n_samples": 64},
    "dropout": 0.1,
}
SPECIAL_WORDS = ["<oov>", "<bos>", "<eos>", "<pad>"]
WORDS = [*SPECIAL_WORDS, "The", "the", "bank", "river", "sat", "understand", "银行", "我", ".", "\u3000"]
CHARACTER_LIST = [*"TheWbanksodtrvu.", "\u3000", *"银行我河", "<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
# Which sentences a call of the stateful embedder gets; its batches hold three.
CALLS = [[0, 1, 2, 5, 9], [3, 6], [0, 1, 2, 3, 4, 7, 8], [5], [0, 1, 2, 5, 9]]
BATCH_SIZE = 3


def write_model(folder: Path, settings: Settings, *, seed: int, legacy: bool) -> None:
    """Write a model folder, its tensors named by the package itself."""
    folder.mkdir(exist_ok=True)
    as_json = {
        # Nothing is at that path: only the file's name leads to the settings.
        "config.json": {"config_path": "/home/nobody/configs/cnn_tiny.json", "seed": 1, "max_sent_len": 20},
        "cnn_tiny.json": settings,
    }
    for name, value in as_json.items():
        (folder / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    words = "".join(f"{word}\t{i}\n" for i, word in enumerate(WORDS))
    # U+3000 is stripped as white space when read back: a line with only an id means the same as one with both.
    (folder / "word.dic").write_text(words.replace("\u3000\t", ""), encoding="utf-8")
    characters = "".join(f"{character}\t{i}\n" for i, character in enumerate(CHARACTER_LIST))
    (folder / "char.dic").write_text(characters, encoding="utf-8")

    embedder = settings["token_embedder"]
    ids = [{token: i for i, token in enumerate(tokens)} for tokens in (WORDS, CHARACTER_LIST)]
    word_layer = EmbeddingLayer(embedder["word_dim"], ids[0]) if embedder["word_dim"] else None
    model = Model(settings, word_layer, EmbeddingLayer(embedder["char_dim"], ids[1]))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        parameter.data.normal_(0.0, scale_of(name), generator=generator)
        if name.endswith("state_linearity.bias"):
            fill_two_cells(parameter.data)
    with cuda_tags(legacy):
        for part in ("token_embedder", "encoder"):
            state = getattr(model, part).state_dict()
            torch.save(state, folder / f"{part}.pkl", _use_new_zipfile_serialization=not legacy)


def scale_of(name: str) -> float:
    """The spread of a random tensor: large enough to meet the clips, small enough to stay stable."""
    scales = {"embedding": 1.0, "state_projection": 0.8, "state_linearity.weight": 0.15, "input_linearity": 0.4}
    return next((scale for part, scale in scales.items() if part in name), 0.35)


def fill_two_cells(bias: torch.Tensor) -> None:
    """Let two cells fill up or empty at nearly 1 a step, so that the clip on the cell is met."""
    gates = bias.view(4, -1)  # input, forget, candidate, output
    gates[1] += 1.0
    gates[:, :2] += torch.tensor([[2.0, 2.0], [2.0, 2.0], [2.0, -2.0], [1.0, 1.0]])


@contextmanager
def cuda_tags(wanted: bool) -> Iterator[None]:
    """Tag saved tensors as the published models have them, which were saved from a GPU."""
    real = torch.serialization.location_tag
    if wanted:
        torch.serialization.location_tag = lambda storage: "cuda:0"
    try:
        yield
    finally:
        torch.serialization.location_tag = real


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


def stateless(folder: Path, sentences: list[list[str]]) -> Arrays:
    """A fresh `Embedder` for every sentence and every output layer, then one for all of them as one batch."""
    out: Arrays = {}
    for i, sentence in enumerate(sentences):
        for name, layer in (("layers", -2), ("mean", -1), ("layer0", 0), ("layer1", 1), ("layer2", 2)):
            if name == "layers" or i in (0, 5):
                [out[f"stateless/sentence{i}/{name}"]] = peer.Embedder(str(folder)).sents2elmo([sentence], layer)
    for i, array in enumerate(peer.Embedder(str(folder)).sents2elmo(sentences, -2)):
        out[f"one_batch/sentence{i}/layers"] = array
    return out


def stateful(folder: Path, sentences: list[list[str]]) -> Arrays:
    """One `Embedder` over several calls, and the batches it made of each: their order is random."""
    out: Arrays = {}
    real = peer.create_batches

    def recording(*args: Any, **options: Any) -> Any:
        batches = real(*args, **options)
        out[f"{call}/sizes"], out[f"{call}/order"] = [len(lengths) for lengths in batches[2]], batches[-1]
        return batches

    peer.create_batches = recording
    embedder = peer.Embedder(str(folder), batch_size=BATCH_SIZE)
    random.seed(5)
    for number, chosen in enumerate(CALLS):
        call = f"stateful/call{number}"
        out[f"{call}/sentences"] = chosen
        for i, array in enumerate(embedder.sents2elmo([sentences[k] for k in chosen], -2)):
            out[f"{call}/sentence{i}/layers"] = array
    peer.create_batches = real
    return out


def main() -> None:
    """Write everything in this folder but the sentences."""
    sentences = json.loads((HERE / "sentences.json").read_text(encoding="utf-8"))
    models = (("words_and_characters", WORDS_AND_CHARACTERS, 21, True), ("characters", CHARACTERS, 22, False))
    for name, settings, seed, legacy in models:
        write_model(HERE / name, settings, seed=seed, legacy=legacy)
        arrays: Arrays = {}
        with counted_clips(arrays):
            arrays |= stateless(HERE / name, sentences)
            arrays |= stateful(HERE / name, sentences)
        np.savez_compressed(HERE / f"{name}.npz", allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
