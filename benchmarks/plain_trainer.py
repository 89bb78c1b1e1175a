"""The straightforward trainer: an implementation of the paper with torch's own layers.

Character convolutions on every token, `nn.LSTM` with ``proj_size`` for each layer and direction, a full softmax, AdamW.
Rows of running text, so that nothing is padding. Shapes: B rows, T tokens, C characters, F filters,
P projection, V words.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.models import FILTERS, SIZES
from benchmarks.process import serve
from polyseme.text.characters import BEGIN_SENTENCE, BYTE_CHARACTERS, END_SENTENCE, ByteCharacters

UNKNOWN = "<UNK>"


class PlainBiLM(nn.Module):
    """A biLM of the small size and the loss of a batch."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        size = SIZES["small"]
        features, dim = sum(count for _, count in FILTERS), size.projection_dim
        self.embedding = nn.Embedding(BYTE_CHARACTERS, 16)
        self.convolutions = nn.ModuleList(nn.Conv1d(16, count, width) for width, count in FILTERS)
        self.gate, self.transform = nn.Linear(features, features), nn.Linear(features, features)
        self.projection = nn.Linear(features, dim)
        self.forward_layers, self.backward_layers = (
            nn.ModuleList(nn.LSTM(dim, size.hidden_dim, proj_size=dim, batch_first=True) for _ in range(2))
            for _ in range(2)
        )
        self.softmax = nn.Linear(dim, vocabulary_size)

    def forward(self, characters: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss of the forward and of the backward direction: characters (B, T, C), words (B, T)."""
        letters = self.embedding(characters.flatten(0, 1)).transpose(1, 2)  # (B * T, 16, C)
        features = torch.cat([layer(letters).amax(dim=2).relu() for layer in self.convolutions], dim=1)  # (B * T, F)
        gate = self.gate(features).sigmoid()
        features = gate * features + (1 - gate) * self.transform(features).relu()
        tokens = self.projection(features).unflatten(0, words.shape)  # (B, T, P)
        ahead = self._direction(self.forward_layers, tokens, words)
        back = self._direction(self.backward_layers, tokens.flip(1), words.flip(1))
        return ahead, back

    def _direction(self, layers: nn.ModuleList, tokens: Tensor, words: Tensor) -> Tensor:
        first, _ = layers[0](tokens)
        second, _ = layers[1](first)
        logits = self.softmax((first + second)[:, :-1])  # (B, T - 1, V)
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), words[:, 1:].flatten())


class PlainTrainer:
    """One model in one precision and the commands it answers."""

    def load(
        self, path: str, rows: int, steps: int, precision: str, vocabulary_size: int = 10**9, min_count: int = 1
    ) -> dict[str, int]:
        """Read a text and set up the model."""
        self.text = [word for sentence in _sentences(path) for word in sentence]
        common = Counter(self.text).most_common(vocabulary_size - 1)
        words = [UNKNOWN, *(word for word, count in common if count >= min_count)]
        self.vocabulary = {word: number for number, word in enumerate(words)}
        self.rows, self.steps, self.place, self.precision = rows, steps, 0, precision
        self.indexer = ByteCharacters(50)
        torch.manual_seed(1)
        self.model = PlainBiLM(len(words))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        return {"vocabulary": len(words), "threads": torch.get_num_threads()}

    def run(self, updates: int | None = None, seconds: float = math.inf) -> dict[str, float]:
        """Make this many updates, or as many as there is time for."""
        start, done = time.perf_counter(), 0
        while (updates is None or done < updates) and time.perf_counter() - start < seconds:
            self._update()
            done += 1
        return {"seconds": time.perf_counter() - start, "tokens": done * self.rows * self.steps}

    @torch.no_grad()
    def evaluate(self, path: str) -> dict[str, float]:
        """Perplexity of each direction over the sentences of a file; a batch has sentences of one length."""
        by_length: dict[int, list[list[str]]] = {}
        for sentence in _sentences(path):
            by_length.setdefault(len(sentence), []).append(sentence)
        sums, predictions = torch.zeros(2, dtype=torch.float64), 0
        for length, sentences in by_length.items():
            size = max(1, 2048 // length)
            for first in range(0, len(sentences), size):
                batch = sentences[first : first + size]
                losses = self.model(*self._ids([word for sentence in batch for word in sentence], len(batch)))
                sums += torch.stack(losses).double() * (count := len(batch) * (length - 1))
                predictions += count
        forward, backward = (sums / predictions).exp().tolist()
        return {"forward": forward, "backward": backward, "predictions": predictions}

    def _update(self) -> None:
        size = self.rows * self.steps
        if self.place + size > len(self.text):
            self.place = 0
        words = self.text[self.place : self.place + size]
        self.place += size
        ids = self._ids(words, self.rows)
        with torch.autocast("cpu", dtype=torch.bfloat16) if self.precision == "bfloat16" else nullcontext():
            ahead, back = self.model(*ids)
        self.optimizer.zero_grad()
        ((ahead + back) / 2).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()

    def _ids(self, words: list[str], rows: int) -> tuple[Tensor, Tensor]:
        characters = torch.from_numpy(self.indexer.ids(words)).unflatten(0, (rows, -1))
        unknown = self.vocabulary[UNKNOWN]
        return characters, torch.tensor([self.vocabulary.get(word, unknown) for word in words]).view(rows, -1)


def _sentences(path: str) -> Iterator[list[str]]:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        yield [BEGIN_SENTENCE, *line.split(), END_SENTENCE]


if __name__ == "__main__":
    worker = PlainTrainer()
    serve({"load": worker.load, "run": worker.run, "evaluate": worker.evaluate})
