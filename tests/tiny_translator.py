"""A tiny random translator, and parallel text that can be learnt: every word has one translation, order is reversed."""

from pathlib import Path

import numpy as np
import torch

from polyseme.models.static import WordVectors
from polyseme.models.translation import TranslationModel
from polyseme.models.translator import Translator
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import Vocabulary

SOURCE = ("one", "two", "three", "four", "five", "six", "seven", "eight")
TARGET = ("uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho")


def tiny_translator(*, words: tuple[str, ...] = TARGET, dim: int = 6) -> TranslationModel:
    torch.manual_seed(3)
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *words])
    network = Translator(
        vector_dim=5, encoder_dim=4, encoder_layers=2, decoder_dim=dim, vocabulary_size=len(vocabulary)
    )
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    table = WordVectors(SOURCE, np.random.default_rng(1).normal(size=(len(SOURCE), 5)).astype(np.float32))
    return TranslationModel(network.eval(), table, vocabulary, Segmentation("en"), Segmentation("en"))


def pairs(count: int, seed: int = 1, longest: int = 5) -> list[tuple[str, str]]:
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        ids = generator.integers(len(SOURCE), size=generator.integers(1, longest + 1))
        found.append((" ".join(SOURCE[i] for i in ids), " ".join(TARGET[i] for i in reversed(ids))))
    return found


def write_table(path: Path, some: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in some), encoding="utf-8")
    return path


def write_vectors(path: Path, dim: int = 12) -> Path:
    generator = np.random.default_rng(5)
    lines = (f"{word} {' '.join(f'{x:.5f}' for x in generator.normal(size=dim))}\n" for word in SOURCE)
    path.write_text("".join(lines), encoding="utf-8")
    return path
