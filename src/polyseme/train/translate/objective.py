"""The loss of a translator: the next word of the target sentence after each of its words."""

import torch
from torch import Tensor, nn

from polyseme.models.translation import source_vectors
from polyseme.models.translator import Translator
from polyseme.nn.sampled_softmax import Negatives, sampled_nll
from polyseme.train.engine.job import BatchLoss
from polyseme.train.translate.batches import PairBatch


class Objective:
    """The loss of batches of pairs.

    Args:
        network: The translator.
        vectors: (V, I) the static vectors of the source words, on the network's device.
        label_smoothing: Share of the probability that is spread over all words.
    """

    def __init__(self, network: Translator, vectors: Tensor, *, label_smoothing: float = 0.0) -> None:
        self.network, self.vectors, self.label_smoothing = network, vectors, label_smoothing

    def __call__(self, batch: PairBatch, negatives: Negatives | None) -> BatchLoss:
        """The loss of one batch; sampled if there are negatives, else over the whole vocabulary."""
        softmax, count = self.network.softmax, len(batch.target)
        if negatives is None:
            states = self.states(batch, nn.functional.embedding(batch.before, softmax.weight))
            total = softmax.nll(states, batch.target)
            if self.label_smoothing:
                total = total + self.label_smoothing * self._above_mean(states, batch.target)
            return BatchLoss(total, count, count)
        drawn = torch.from_numpy(negatives.words).to(batch.target.device)
        rows = torch.unique(torch.cat([batch.before, batch.target, drawn]))  # ascending
        weight = softmax.weight.detach()[rows].requires_grad_()
        bias = softmax.bias.detach()[rows].requires_grad_()
        words = nn.functional.embedding(torch.searchsorted(rows, batch.before), weight)
        states = self.states(batch, words)
        total = sampled_nll(states, weight, bias, rows=rows, targets=batch.target, negatives=negatives)
        return BatchLoss(total, count, count, rows, weight, bias)

    def states(self, batch: PairBatch, words: Tensor) -> Tensor:
        """The states (N, D) that predict the target words, from the vectors (N, D) of the words before them."""
        vectors = source_vectors(self.vectors, batch.source)
        read = self.network.read(vectors, batch.source_packing, batch.target_packing.order)
        return self.network.write(words, batch.target_packing, read)

    def _above_mean(self, states: Tensor, targets: Tensor) -> Tensor:
        """How much the targets' logits are above the mean of all logits, summed.

        A target of 1 - e for the word and e / V for every word costs ``log Z - (1 - e) logit - e mean logit``: this
        times e more than the loss without smoothing.
        """
        softmax = self.network.softmax
        own = (states * nn.functional.embedding(targets, softmax.weight)).sum(dim=1) + softmax.bias[targets]
        mean = (states * softmax.weight.mean(dim=0)).sum(dim=1) + softmax.bias.mean()
        return (own - mean).sum()
