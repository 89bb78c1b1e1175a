"""What every contextual network offers, whatever its architecture.

A network turns ids of words into token vectors, and token vectors into layers. Everything above `polyseme.models` that
only needs layers is written against this class, so that networks of different kinds can take each other's place: a biLM
(layer 0 is its token encoder, every half of a layer sees one side of the context only) or an encoder of a translation
model (layer 0 is a table of static vectors, the second layer reads both directions of the first, and sentences come
without boundary markers).
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from polyseme.models.encoders import EncoderState
from polyseme.models.token_encoders import TokenEncoder
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.packing import Packing

WORDS_AT_ONCE = 512
"""Distinct words the token encoder takes at a time when no gradient is wanted, to bound its memory."""


class Network(nn.Module, ABC):
    """A token encoder, and layers that know the context.

    Attributes:
        token_encoder: Gives a word its vector without context; its ids come from the model's indexer.
        layers: How many layers `contextualise` gives, L, layer 0 included.
        dim: The width D of every layer.
        marks_sentences: Whether sentences come between the begin and end markers of the model's indexer.
    """

    token_encoder: TokenEncoder
    layers: int
    dim: int
    marks_sentences: ClassVar[bool]

    @abstractmethod
    def contextualise(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """All layers of a batch of token vectors.

        Args:
            tokens: (N, P) in flat order, sentence after sentence, with the markers if `marks_sentences`.
            packing: The layout of the batch.
            state: What the network remembers of the text before each sentence; nothing by default.

        Returns:
            One packed (N, D) for each layer, layer 0 first, and the state after the batch.
        """

    @abstractmethod
    def for_inference(self, precision: Precision) -> "Network":
        """The same network with the same weights, without gradients, in this precision."""

    def encode_words(self, ids: Tensor) -> Tensor:
        """Vectors of words without context: ids (U, W) to (U, P)."""
        if torch.is_grad_enabled():
            vectors: Tensor = self.token_encoder(ids)
            return vectors
        return torch.cat([self.token_encoder(some) for some in ids.split(WORDS_AT_ONCE)])

    def encode_tokens(self, ids: Tensor) -> Tensor:
        """Vectors of running text without context: ids (N, W) to (N, P), each distinct word computed once."""
        distinct, where = torch.unique(ids, dim=0, return_inverse=True)
        return self.encode_words(distinct)[where]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device
