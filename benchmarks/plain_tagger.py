"""The tagger of `polyseme task train tag` as a user would write it in torch, with AllenNLP's `Elmo`.

ELMo frozen with a learned mix, beside a vector for the case of a word and a convolution over its characters; biLSTM,
linear layer, AdamW. ELMo runs on every batch of every epoch, as in AllenNLP's own taggers. It runs as a worker in
AllenNLP's environment.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.process import ROOT, serve

sys.path.insert(0, str(ROOT / "tests/golden/allennlp"))
import stand_ins

stand_ins.install()
from allennlp.modules.elmo import Elmo, batch_to_ids  # noqa: E402 - needs the stand-ins

CASES, CHARACTERS = 7, 262


class Tagger(nn.Module):
    """[case; characters; ELMo] -> dropout -> biLSTM -> dropout -> scores."""

    def __init__(self, model: str, labels: int, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.elmo = Elmo(f"{model}/options.json", f"{model}/weights.hdf5", 1, dropout=0.0)
        self.cases = nn.Embedding(CASES, sizes["casing_dim"])
        self.characters = nn.Embedding(CHARACTERS, sizes["character_dim"])
        self.filters = nn.Conv1d(sizes["character_dim"], sizes["character_filters"], sizes["character_width"])
        width = self.elmo.get_output_dim() + sizes["casing_dim"] + sizes["character_filters"]
        self.lstm = nn.LSTM(width, sizes["hidden_dim"], batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(sizes["dropout"])
        self.output = nn.Linear(2 * sizes["hidden_dim"], labels)

    def forward(self, ids: Tensor, cases: Tensor, lengths: Tensor) -> Tensor:
        """Character ids (B, T, 50), cases (B, T) and lengths (B,) to scores (B, T, K)."""
        elmo = self.elmo(ids)["elmo_representations"][0]
        rows, steps, _ = ids.shape
        letters = self.characters(ids.flatten(0, 1)).transpose(1, 2)  # (B * T, C, 50)
        words = self.filters(letters).amax(dim=2).relu().view(rows, steps, -1)
        vectors = self.dropout(torch.cat([self.cases(cases), words, elmo], dim=2))
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores: Tensor = self.output(self.dropout(states))
        return scores


class PlainTagger:
    """One tagger and the commands it answers."""

    def load(self, model: str, data: str, sizes: dict[str, Any]) -> dict[str, int]:
        """Read the biLM and the sentences: JSON lines of tokens, cases and tags."""
        torch.manual_seed(1)
        lines = Path(data).read_text(encoding="utf-8").splitlines()
        self.sentences = [json.loads(line) for line in lines]
        labels = sorted({tag for _, _, tags in self.sentences for tag in tags})
        self.numbers = {label: number for number, label in enumerate(labels)}
        self.tagger = Tagger(model, len(labels), sizes).train()
        learned = [parameter for parameter in self.tagger.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(learned, lr=sizes["learning_rate"])
        self.size, self.next = sizes["batch_size"], 0
        return {"threads": torch.get_num_threads()}

    def run(self, updates: int) -> dict[str, float]:
        """Make so many updates on the next sentences in their order; gives seconds and tokens."""
        start, tokens = time.perf_counter(), 0
        for _ in range(updates):
            batch = [self.sentences[(self.next + i) % len(self.sentences)] for i in range(self.size)]
            self.next += self.size
            lengths = torch.tensor([len(words) for words, _, _ in batch])
            cases = nn.utils.rnn.pad_sequence([torch.tensor(cases) for _, cases, _ in batch], batch_first=True)
            gold = [torch.tensor([self.numbers[tag] for tag in tags]) for _, _, tags in batch]
            scores = self.tagger(batch_to_ids([words for words, _, _ in batch]), cases, lengths)
            wanted = nn.utils.rnn.pad_sequence(gold, batch_first=True, padding_value=-100)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            tokens += int(lengths.sum())
        return {"seconds": time.perf_counter() - start, "tokens": tokens, "loss": float(loss)}


if __name__ == "__main__":
    worker = PlainTagger()
    serve({"load": worker.load, "run": worker.run})
