"""Random weights of the published sizes, in the file format that every peer reads."""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.process import CACHE
from polyseme.formats import bilm_hdf5
from polyseme.formats.detect import open_model
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig, LstmEncoderConfig
from polyseme.models.model import Model
from polyseme.nn.packing import Packing
from polyseme.text.characters import BYTE_CHARACTERS, BYTE_PADDING_ID, ByteCharacters

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
CLIP = 3.0


@dataclass(frozen=True)
class Size:
    """A published size: cells, projection, highway layers, and its parameters without softmax."""

    hidden_dim: int
    projection_dim: int
    highway_layers: int
    parameters: int


SIZES = {"small": Size(1024, 128, 1, 13_593_312), "original": Size(4096, 512, 2, 93_600_864)}


def config_of(size: Size) -> BiLMConfig:
    """The published architecture at this size."""
    return BiLMConfig(
        projection_dim=size.projection_dim,
        token_encoder=CharacterEncoderConfig(
            alphabet="bytes",
            characters=BYTE_CHARACTERS,
            character_dim=16,
            filters=FILTERS,
            highway_layers=size.highway_layers,
            padding_id=BYTE_PADDING_ID,
        ),
        encoder=LstmEncoderConfig(layers=2, hidden_dim=size.hidden_dim, cell_clip=CLIP, projection_clip=CLIP),
    )


def random_model(name: str) -> Path:
    """A folder with options.json and weights.hdf5, created once and kept."""
    folder = CACHE / name
    if not (folder / "weights.hdf5").exists():
        shutil.rmtree(folder, ignore_errors=True)
        CACHE.mkdir(exist_ok=True)
        torch.manual_seed(5)
        config = config_of(SIZES[name])
        bilm = BiLM.from_config(config)
        counted = sum(parameter.numel() for parameter in bilm.parameters())
        assert counted == SIZES[name].parameters, f"{name}: {counted:,} parameters"
        with torch.no_grad():
            for parameter in bilm.encoder.parameters():
                if parameter.dim() == 1:
                    parameter.normal_(std=0.5)  # so that gates are more open or more closed, as in trained models
            projection = bilm.token_encoder.get_parameter("projection.weight")
            # Token vectors wide enough that the gates neither saturate nor all stay half open; see `activity`.
            projection.normal_(std=1 / math.sqrt(projection.shape[1]))
        bilm_hdf5.write(Model(config, bilm, ByteCharacters(50)), folder)
    return folder


@torch.no_grad()
def activity(folder: Path, sentences: list[list[str]]) -> dict[str, float]:
    """How active a model is on these sentences: the spread of each layer, and the share of clipped values."""
    model = open_model(folder)
    begin, end = np.split(model.indexer.boundaries, 2)
    ids = np.concatenate([part for words in sentences for part in (begin, model.indexer.ids(words), end)])
    packing = Packing.of([len(words) + 2 for words in sentences], "cpu")
    layers, state = model.bilm.contextualise(model.bilm.encode_tokens(torch.from_numpy(ids)), packing)
    _, cells = state.parts  # after each sentence's last token
    shares = {"cells at the clip": cells, "outputs of layer 1 at the clip": layers[1]}
    return {
        **{f"spread of layer {number}": round(layer.std().item(), 3) for number, layer in enumerate(layers)},
        **{name: round((values.abs() >= CLIP).float().mean().item(), 5) for name, values in shares.items()},
    }
