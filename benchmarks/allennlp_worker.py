"""AllenNLP 2.10.1 as its own ``embed_file`` runs it: batches of 64, state carried along, no gradients."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.process import ROOT, serve

sys.path.insert(0, str(ROOT / "tests/golden/allennlp"))
import stand_ins

stand_ins.install()
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids  # noqa: E402 - needs the stand-ins
from allennlp.nn.util import remove_sentence_boundaries  # noqa: E402

BATCH = 64


class AllenNlp:
    """One model and the commands it answers."""

    def load(self, model: str) -> dict[str, Any]:
        """Read weights."""
        start = time.perf_counter()
        self.bilm = _ElmoBiLm(f"{model}/options.json", f"{model}/weights.hdf5").eval()
        return {
            "load_seconds": time.perf_counter() - start,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        }

    def latency(self, sentence: list[str]) -> list[float]:
        """Seconds of the first and of the second call with one sentence."""
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            list(self._embed([sentence]))
            seconds.append(time.perf_counter() - start)
        return seconds

    def run(self, path: str, order: str) -> dict[str, float]:
        """Embed every sentence of a file, in its order or longest first."""
        sentences = _read(path)
        self.bilm._elmo_lstm.reset_states()
        start = time.perf_counter()
        if order == "sorted":
            sentences = sorted(sentences, key=len, reverse=True)
        tokens = sum(array.shape[1] for array in self._embed(sentences))
        return {"seconds": time.perf_counter() - start, "tokens": tokens}

    def vectors(self, path: str, count: int, output: str) -> None:
        """Save all layers of the first sentences (L, N, D), each batch without earlier state."""
        arrays: list[np.ndarray] = []
        for sentence in _read(path)[:count]:
            self.bilm._elmo_lstm.reset_states()
            arrays += self._embed([sentence])
        np.save(output, np.concatenate(arrays, axis=1))

    @torch.no_grad()
    def _embed(self, sentences: list[list[str]]) -> Iterator[np.ndarray]:
        """All layers of each sentence: (L, T, D)."""
        for start in range(0, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            output = self.bilm(batch_to_ids(batch))
            stripped = [remove_sentence_boundaries(layer, output["mask"])[0] for layer in output["activations"]]
            layers = torch.stack(stripped, dim=1).numpy()  # (B, L, T, D)
            for array, sentence in zip(layers, batch, strict=True):
                yield array[:, : len(sentence)]


def _read(path: str) -> list[list[str]]:
    return [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    worker = AllenNlp()
    serve({"load": worker.load, "latency": worker.latency, "run": worker.run, "vectors": worker.vectors})
