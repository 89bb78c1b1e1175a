"""The loss of the biLM: each direction predicts the words that it has not read yet."""

from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from polyseme.models.bilm import BiLM
from polyseme.models.encoders import LstmEncoder
from polyseme.models.gru_encoder import GruEncoder
from polyseme.nn.packing import Packing
from polyseme.nn.sampled_softmax import Negatives, sampled_nll
from polyseme.nn.softmax import FullSoftmax
from polyseme.train.engine.job import BatchLoss
from polyseme.train.lm.batches import Batch, RowBatch, SentenceBatch
from polyseme.train.lm.context_words import Away, ContextWords, Sample
from polyseme.train.lm.text_store import BEGIN, END, TextStore

LayerState: TypeAlias = Any
"""What an encoder's layer remembers: tensors, nested as the encoder likes."""


class Objective:
    """The loss of the forward and the backward language model for batches of a text.

    Args:
        bilm: The network, with its softmax.
        store: The text.
        dropout: Dropout on token vectors and on the top layer.
        device: The device to compute on.
        context: A second loss, for batches of sentences.
        context_weight: How much of it is added.
    """

    def __init__(
        self,
        bilm: BiLM,
        store: TextStore,
        *,
        dropout: float,
        device: torch.device,
        context: ContextWords | None = None,
        context_weight: float = 0.0,
    ) -> None:
        assert bilm.softmax is not None
        self.bilm = bilm
        self.softmax = bilm.softmax
        self.store = store
        self.dropout = dropout
        self.device = device
        self.context = context
        self.context_weight = context_weight
        self.carried: dict[int, list[LayerState]] = {}
        """The state of each layer's two directions after the last batch of each slot."""

    def __call__(self, batch: Batch, negatives: Negatives | None) -> BatchLoss:
        """The loss of one batch; sampled if there are negatives, else over the whole vocabulary."""
        states, targets, away = self._sentences(batch) if isinstance(batch, SentenceBatch) else self._rows(batch)
        states = nn.functional.dropout(states, self.dropout)
        if negatives is None:
            total, besides = self.softmax.nll(states, targets), self._context(away)
            return BatchLoss(total, len(targets), len(targets) // 2, besides=besides)
        assert isinstance(self.softmax, FullSoftmax)
        drawn = torch.from_numpy(negatives.words).to(self.device)
        wanted = targets if away is None else torch.cat([targets, away.targets])
        rows = torch.unique(torch.cat([wanted, drawn]))  # ascending
        weight = self.softmax.weight.detach()[rows].requires_grad_()
        bias = self.softmax.bias.detach()[rows].requires_grad_()
        total = sampled_nll(states, weight, bias, rows=rows, targets=targets, negatives=negatives)
        sample = Sample(rows, weight, bias, negatives)
        return BatchLoss(total, len(targets), len(targets) // 2, rows, weight, bias, self._context(away, sample))

    def _context(self, away: Away | None, sample: Sample | None = None) -> Tensor | None:
        """The second loss, if there is one; over the whole vocabulary without a sample."""
        if away is None or self.context is None:
            return None
        assert isinstance(self.softmax, FullSoftmax)
        return self.context_weight * self.context.nll(away, self.softmax, sample)

    def forget(self) -> None:
        """Forget the state of all rows."""
        self.carried = {}

    def _encode(self, *parts: NDArray[np.int32]) -> list[Tensor]:
        """Token vectors (n, P) of the types (n,) of each part; every distinct word is computed once for all parts."""
        distinct, where = np.unique(np.concatenate(parts), return_inverse=True)
        characters = torch.from_numpy(self.store.characters[distinct].astype(np.int64)).to(self.device)
        vectors = self.bilm.encode_words(characters)  # (U, P)
        tokens = nn.functional.embedding(torch.from_numpy(where).to(self.device), vectors)
        tokens = nn.functional.dropout(tokens, self.dropout)
        return list(tokens.split([len(part) for part in parts]))

    def _outputs(self, types: NDArray[np.int32]) -> Tensor:
        return torch.from_numpy(self.store.outputs[types]).to(self.device)

    def _sentences(self, batch: SentenceBatch) -> tuple[Tensor, Tensor, Away | None]:
        """States (n, P) of both directions and the word that each state predicts; what the second loss needs."""
        packing = Packing.of(batch.lengths, self.device)
        order = packing.flat_of_packed.cpu().numpy()
        (packed,) = self._encode((batch.types if batch.noisy is None else batch.noisy)[order])
        layers, _ = self.bilm.encoder(packed, packing, None)
        lengths = np.array(batch.lengths)
        ends = np.cumsum(lengths)
        flat = np.arange(len(batch.types))
        ahead, back = np.delete(flat, ends - 1), np.delete(flat, ends - lengths)
        rows = packing.packed_of_flat
        forward, backward = layers[-1].chunk(2, dim=1)
        states = torch.cat(
            [
                nn.functional.embedding(rows[torch.from_numpy(ahead).to(self.device)], forward),
                nn.functional.embedding(rows[torch.from_numpy(back).to(self.device)], backward),
            ]
        )
        targets = self._outputs(np.concatenate([batch.types[ahead + 1], batch.types[back - 1]]))
        return states, targets, self._away(batch, layers[-1], rows)

    def _away(self, batch: SentenceBatch, layer: Tensor, rows: Tensor) -> Away | None:
        """The states of a layer (n, 2P) that predict words further away."""
        if self.context is None:
            return None
        uniform = torch.rand(2, len(batch.types), dtype=torch.float64).numpy()
        places, wanted = self.context.draw(batch.types, batch.lengths, uniform)
        states = nn.functional.embedding(rows[torch.from_numpy(places).to(self.device)], layer)
        return Away(states, self._outputs(batch.types[wanted]))

    def _rows(self, batch: RowBatch) -> tuple[Tensor, Tensor, None]:
        """Like `_sentences`, but starts from the state after the slot's last batch, where gradients stop."""
        encoder = self.bilm.encoder
        assert isinstance(encoder, LstmEncoder | GruEncoder)
        sizes = (batch.ahead.shape[0],) * batch.ahead.shape[1]
        tokens = self._encode(batch.ahead.T.ravel(), batch.back.T.ravel())  # time-major is the packed order of rows
        ahead_rows, back_rows = tokens
        after: list[LayerState] = []
        for number, states in enumerate(self.carried.get(batch.slot, [(None, None)] * encoder.layers)):
            outputs, finals = encoder.run_layer(number, (ahead_rows, back_rows), sizes, states)
            if number and encoder.skip_connections:
                outputs = outputs[0] + ahead_rows, outputs[1] + back_rows
            ahead_rows, back_rows = outputs
            after.append(tuple(_cut(final) for final in finals))
        self.carried[batch.slot] = after
        # Nothing is predicted across the boundary of two sentences.
        ahead = np.flatnonzero(batch.ahead.T.ravel() != END)
        back = np.flatnonzero(batch.back.T.ravel() != BEGIN)
        states = torch.cat([ahead_rows[torch.from_numpy(ahead)], back_rows[torch.from_numpy(back)]])
        words = np.concatenate([batch.ahead_next.T.ravel()[ahead], batch.back_next.T.ravel()[back]])
        return states, self._outputs(words), None


def _cut(state: LayerState) -> LayerState:
    """The state of a layer, detached from its graph."""
    return state.detach() if isinstance(state, Tensor) else tuple(part.detach() for part in state)


def checked_carried(value: object) -> dict[int, list[LayerState]]:
    """What `Objective.carried` was when it was stored.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(value, dict) and all(isinstance(layers, list) and _is_state(layers) for layers in value.values()):
        return value
    raise ValueError("the carried state is no state of layers")


def _is_state(value: object) -> bool:
    """Whether a value is made of finite tensors alone."""
    if isinstance(value, list | tuple):
        return all(map(_is_state, value))
    return isinstance(value, Tensor) and value.is_floating_point() and bool(value.isfinite().all())
