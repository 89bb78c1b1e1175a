"""The straightforward translator: the formulas of McCann et al. (2017) with torch's own layers, and its training step.

`nn.LSTM` over a packed batch as encoder, `nn.LSTMCell` and attention in a loop over the target words as decoder, cross
entropy over the whole vocabulary, AdamW. Sizes, tied word vectors, batches, dropout and clipping are polyseme's.
Shapes: B pairs, S source tokens, T target words, D decoder, E source states, V words.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from benchmarks.process import serve
from polyseme.models.translation import BEGIN, END
from polyseme.train.translate.batches import PairBatches
from polyseme.train.translate.pair_store import open_store
from polyseme.train.translate.settings import TranslateSettings

PADDING = -1


class PlainTranslator(nn.Module):
    """The network and the loss of a batch."""

    def __init__(self, settings: TranslateSettings, vector_dim: int, vocabulary_size: int) -> None:
        super().__init__()
        dim, memory = settings.decoder_dim, 2 * settings.encoder_dim
        self.encoder = nn.LSTM(
            vector_dim,
            settings.encoder_dim,
            settings.encoder_layers,
            dropout=settings.dropout,
            bidirectional=True,
            batch_first=True,
        )
        self.embedding = nn.Embedding(vocabulary_size, dim)
        self.start = nn.Linear(memory, 2 * dim)
        self.cell = nn.LSTMCell(2 * dim, dim)
        self.query = nn.Linear(dim, memory)
        self.mix = nn.Linear(memory + dim, dim)
        self.softmax = nn.Linear(dim, vocabulary_size)
        self.softmax.weight = self.embedding.weight
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, vectors: Tensor, lengths: Tensor, before: Tensor, target: Tensor) -> Tensor:
        """The mean loss: static vectors (B, S, I), source lengths (B,), words (B, T), targets (B, T)."""
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        output, (final, _) = self.encoder(packed)
        memory, _ = pad_packed_sequence(output, batch_first=True)  # (B, S, E)
        memory = self.dropout(memory)
        mask = torch.arange(memory.shape[1]) < lengths.unsqueeze(1)
        hidden, cell = self.start(torch.cat([final[-2], final[-1]], dim=1)).chunk(2, dim=1)
        hidden = hidden.tanh()
        words = self.dropout(self.embedding(before))  # (B, T, D)
        attentional, states = torch.zeros_like(hidden), []
        for word in words.unbind(dim=1):
            hidden, cell = self.cell(torch.cat([word, attentional], dim=1), (hidden, cell))
            scores = (memory @ self.query(hidden).unsqueeze(2)).squeeze(2)  # (B, S)
            attention = scores.masked_fill(~mask, float("-inf")).softmax(dim=1)
            context = (attention.unsqueeze(1) @ memory).squeeze(1)  # (B, E)
            attentional = self.mix(torch.cat([context, hidden], dim=1)).tanh()
            states.append(attentional)
        real = target != PADDING
        logits = self.softmax(self.dropout(torch.stack(states, dim=1))[real])  # (N, V)
        return nn.functional.cross_entropy(logits.float(), target[real])


class PlainTrainer:
    """One network in one precision and the commands it answers."""

    def load(self, folder: str, precision: str) -> dict[str, int]:
        """Open prepared pairs and set up the network."""
        torch.manual_seed(1)
        self.settings = TranslateSettings.model_validate({})
        self.store, self.precision = open_store(Path(folder)), precision
        self.vectors = torch.from_numpy(np.asarray(self.store.table.matrix))
        self.model = PlainTranslator(self.settings, self.store.table.dim, len(self.store.vocabulary))
        learning = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(learning, lr=self.settings.learning_rate, fused=True)
        self.batches = self._numbers()
        return {"threads": torch.get_num_threads()}

    def run(self, updates: int) -> dict[str, float]:
        """Make this many updates; gives seconds, processor seconds and target words."""
        clock, processor, tokens = perf_counter(), process_time(), 0
        for _ in range(updates):
            tokens += self._update(next(self.batches))
        return {"seconds": perf_counter() - clock, "processor": process_time() - processor, "tokens": tokens}

    def _numbers(self) -> Iterator[np.ndarray]:
        settings = self.settings
        batches = PairBatches(self.store.training, batch_tokens=settings.batch_tokens, group=1, seed=settings.seed)
        return (group.batches[0] for epoch in range(1000) for group in batches.groups(epoch, 0))

    def _update(self, numbers: np.ndarray) -> int:
        pairs = self.store.training
        sources = [torch.from_numpy(pairs.source[slice(*pairs.source_starts[n : n + 2])]).long() for n in numbers]
        targets = [torch.from_numpy(pairs.target[slice(*pairs.target_starts[n : n + 2])]).long() for n in numbers]
        begin, end = torch.tensor([BEGIN]), torch.tensor([END])
        vectors = pad_sequence([self.vectors[ids] * (ids >= 0).unsqueeze(1) for ids in sources], batch_first=True)
        lengths = torch.tensor([len(ids) for ids in sources])
        before = pad_sequence([torch.cat([begin, ids]) for ids in targets], batch_first=True)
        target = pad_sequence([torch.cat([ids, end]) for ids in targets], batch_first=True, padding_value=PADDING)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.precision == "bfloat16"):
            loss = self.model(vectors, lengths, before, target)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return int((target != PADDING).sum())


if __name__ == "__main__":
    worker = PlainTrainer()
    serve({"load": worker.load, "run": worker.run})
