"""The straightforward trainer: what one writes from the paper with torch's own layers.

Character convolutions on every token, `nn.LSTM` with ``proj_size`` for each layer and direction, a full softmax, AdamW.
Rows of running text, so that nothing is padding. Shapes: B rows, T tokens, C characters, F filters,
P projection, V words.
"""

import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.models import FILTERS, SIZES
from benchmarks.process import serve
from polyseme.text.characters import BEGIN_SENTENCE, BYTE_CHARACTERS, END_SENTENCE, ByteCharacters


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

    def forward(self, characters: Tensor, words: Tensor) -> Tensor:
        """The mean loss of both directions: characters (B, T, C), words (B, T)."""
        letters = self.embedding(characters.flatten(0, 1)).transpose(1, 2)  # (B * T, 16, C)
        features = torch.cat([layer(letters).amax(dim=2).relu() for layer in self.convolutions], dim=1)  # (B * T, F)
        gate = self.gate(features).sigmoid()
        features = gate * features + (1 - gate) * self.transform(features).relu()
        tokens = self.projection(features).unflatten(0, words.shape)  # (B, T, P)
        ahead = self._direction(self.forward_layers, tokens, words)
        back = self._direction(self.backward_layers, tokens.flip(1), words.flip(1))
        return (ahead + back) / 2

    def _direction(self, layers: nn.ModuleList, tokens: Tensor, words: Tensor) -> Tensor:
        first, _ = layers[0](tokens)
        second, _ = layers[1](first)
        logits = self.softmax((first + second)[:, :-1])  # (B, T - 1, V)
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), words[:, 1:].flatten())


class PlainTrainer:
    """One model in one precision and the orders it answers."""

    def load(self, path: str, rows: int, steps: int, vocabulary_size: int, precision: str) -> dict[str, int]:
        """Read a text and set up the model."""
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        text = [token for line in lines for token in (BEGIN_SENTENCE, *line.split(), END_SENTENCE)]
        common = Counter(text).most_common(vocabulary_size)
        vocabulary = {word: number for number, (word, _) in enumerate(common)}
        self.text, self.vocabulary = text, vocabulary
        self.rows, self.steps, self.place, self.precision = rows, steps, 0, precision
        self.indexer = ByteCharacters(50)
        torch.manual_seed(1)
        self.model = PlainBiLM(len(vocabulary))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        return {"vocabulary": len(vocabulary), "threads": torch.get_num_threads()}

    def run(self, updates: int) -> dict[str, float]:
        """Make so many updates."""
        start = time.perf_counter()
        for _ in range(updates):
            loss = self._update()
        tokens = updates * self.rows * self.steps
        return {"seconds": time.perf_counter() - start, "tokens": tokens, "loss": loss}

    def _update(self) -> float:
        size = self.rows * self.steps
        if self.place + size > len(self.text):
            self.place = 0
        words = self.text[self.place : self.place + size]
        self.place += size
        characters = torch.from_numpy(self.indexer.ids(words)).view(self.rows, self.steps, -1)
        targets = torch.tensor([self.vocabulary.get(word, 0) for word in words]).view(self.rows, self.steps)
        with torch.autocast("cpu", dtype=torch.bfloat16) if self.precision == "bfloat16" else nullcontext():
            loss = self.model(characters, targets)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    worker = PlainTrainer()
    serve({"load": worker.load, "run": worker.run})
