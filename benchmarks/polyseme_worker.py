"""polyseme through its public interface: `Embedder.stream` over sentences in input order."""

import time
from itertools import islice
from typing import Any

import numpy as np
import torch

from benchmarks.process import serve
from polyseme.embed.embedder import Embedder
from polyseme.formats.detect import open_model
from polyseme.models.bilm import BiLM
from polyseme.nn.backend import available
from polyseme.nn.kernels.packed import Precision
from polyseme.text.corpus import Corpus

WARM_UP = [["The", "kettle", "is", "on"]]


class Polyseme:
    """One model in one precision and the commands it answers."""

    def load(self, model: str, precision: Precision) -> dict[str, Any]:
        """Read weights."""
        start = time.perf_counter()
        self.precision = precision
        self.model = open_model(model)
        self.embedder = Embedder(self.model, precision=precision)
        return {
            "load_seconds": time.perf_counter() - start,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "kernels": available(precision),
        }

    def latency(self, sentence: list[str]) -> list[float]:
        """Seconds of the first and of the second call with one sentence; the first packs the weights."""
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            self.embedder.embed([sentence])
            seconds.append(time.perf_counter() - start)
        return seconds

    def run(self, path: str) -> dict[str, float]:
        """Embed every sentence of a file with an empty word cache, and free each array at once."""
        # A new embedder knows no words; a short call packs its weights before the clock starts.
        self.embedder = Embedder(self.model, precision=self.precision)
        self.embedder.embed(WARM_UP)
        sentences = (sentence.tokens for sentence in Corpus([path], tokenize="none"))
        start = time.perf_counter()
        tokens = sum(array.shape[1] for array in self.embedder.stream(sentences))
        return {"seconds": time.perf_counter() - start, "tokens": tokens}

    def profile(self, path: str) -> dict[str, float]:
        """The seconds of a run by part, and how fast the LSTMs multiply in it (GFLOP/s)."""
        self.embedder = Embedder(self.model, precision=self.precision)
        self.embedder.embed(WARM_UP)
        bilm = self.embedder._network
        assert isinstance(bilm, BiLM)
        seconds = {"token encoder": 0.0, "LSTMs": 0.0}
        began = dict(seconds)
        for name, module in zip(seconds, (bilm.token_encoder, bilm.encoder), strict=True):

            def before(*_: Any, name: str = name) -> None:
                began[name] = time.perf_counter()

            def after(*_: Any, name: str = name) -> None:
                seconds[name] += time.perf_counter() - began[name]

            module.register_forward_pre_hook(before)
            module.register_forward_hook(after)
        sentences = [sentence.tokens for sentence in Corpus([path], tokenize="none")]
        start = time.perf_counter()
        steps = sum(array.shape[1] + 2 for array in self.embedder.stream(sentences))  # with the markers
        rest = time.perf_counter() - start - sum(seconds.values())
        weights = sum(weight.numel() for weight in self.model.bilm.encoder.parameters() if weight.dim() == 2)
        return {**seconds, "the rest": rest, "gflops": 2e-9 * weights * steps / seconds["LSTMs"]}

    def vectors(self, path: str, count: int, output: str) -> None:
        """Save all layers of the first sentences (L, N, D)."""
        sentences = [sentence.tokens for sentence in islice(Corpus([path], tokenize="none"), count)]
        np.save(output, np.concatenate(self.embedder.embed(sentences), axis=1))


if __name__ == "__main__":
    worker = Polyseme()
    serve({name: getattr(worker, name) for name in ("load", "latency", "run", "profile", "vectors")})
