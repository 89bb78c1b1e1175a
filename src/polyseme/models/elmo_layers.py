"""A network inside a task model: padded ids of sentences to padded layers.

Shapes: B sentences, T tokens of the longest, W ids per word, N tokens of a packed batch, P width of a token vector.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.models.carried_state import CarriedState
from polyseme.models.model import Model
from polyseme.nn.packing import Packing
from polyseme.text.batching import checked
from polyseme.text.characters import ByteCharacters, Indexer


class PaddedLayers(NamedTuple):
    """All layers of a padded batch."""

    layers: list[Tensor]
    """One (B, T', D) per layer, zero at padding; T' is T, plus two if the network marks sentences."""
    mask: Tensor
    """(B, T'), true at tokens and markers."""


class ElmoLayers(nn.Module):
    """All layers of padded sentences, with their markers if the network wants them.

    Args:
        model: An opened model. Its network is used and not copied; its softmax is left out, since no task asks for it
            and it would be a parameter without a gradient.
        requires_grad: Whether the network learns with the task.
        cached_words: Words whose token vectors are computed once; ``word_ids`` are positions in this list.
        stateful: Carry state from batch to batch, as the original software does.
    """

    def __init__(
        self,
        model: Model,
        *,
        requires_grad: bool = False,
        cached_words: Sequence[str] | None = None,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        self.model = model.without_softmax()
        self.network = self.model.network.requires_grad_(requires_grad)
        if stateful and not self.network.marks_sentences:
            raise InputError("stateful: this network carries no state from sentence to sentence; leave it out")
        self.padding_id = padding_id(model.indexer)
        self.register_buffer("_markers", torch.from_numpy(model.indexer.boundaries), persistent=False)  # (2, W)
        self._carried = CarriedState() if stateful else None
        self.cached: nn.Embedding | None = None
        if cached_words:
            self.cache_words(cached_words)

    def ids(self, sentences: Iterable[Sequence[str]]) -> Tensor:
        """The ids of sentences, padded: (B, T, W)."""
        return padded_ids(self.model.indexer, sentences)

    @torch.no_grad()
    def cache_words(self, words: Sequence[str]) -> None:
        """Compute the token vectors of words once; `forward` then takes their positions as ``word_ids``."""
        ids = torch.from_numpy(self.model.indexer.ids(list(words))).to(self.network.device)
        learns = any(parameter.requires_grad for parameter in self.network.parameters())
        self.cached = nn.Embedding.from_pretrained(self.network.encode_words(ids), freeze=not learns)

    def forward(self, ids: Tensor, word_ids: Tensor | None = None) -> PaddedLayers:
        """Run the network.

        Args:
            ids: (B, T, W) as `ids` gives them.
            word_ids: (B, T) positions in ``cached_words``, 0 at padding. Used if no position is beyond the list.
        """
        if self.cached is not None and word_ids is not None and (word_ids < self.cached.num_embeddings).all():
            mask: Tensor = word_ids.gt(0)
            flat: Tensor = self.cached(word_ids[mask])  # (N, P) without markers
        else:  # as in AllenNLP, one word outside the cache sends the whole batch through its characters
            mask = (ids != self.padding_id).any(dim=-1)
            flat = self.network.encode_tokens(ids[mask])
        sizes: list[int] = mask.sum(dim=1).tolist()
        added = 2 if self.network.marks_sentences else 0  # a sentence without tokens still has its markers
        length = mask.shape[1] + added
        # In the number type of the weights: under autocast the layers come in several.
        dtype = next(self.network.parameters()).dtype
        padded = flat.new_zeros(len(sizes), length, self.network.dim, dtype=dtype)
        filled = torch.arange(length, device=mask.device) < mask.sum(dim=1, keepdim=True) + added  # (B, T')
        lengths = [size + added for size in sizes if size + added]
        if not lengths:
            return PaddedLayers([padded] * self.network.layers, filled)
        tokens = self._between_markers(flat, sizes) if added else flat
        packing = Packing.of(lengths, tokens.device)
        layers = self._contextualise(tokens, packing)
        place = filled.unsqueeze(-1)
        return PaddedLayers(
            [padded.masked_scatter(place, layer[packing.packed_of_flat].to(dtype)) for layer in layers], filled
        )

    def _between_markers(self, flat: Tensor, sizes: list[int]) -> Tensor:
        """Token vectors (N, P) of all sentences, each between its markers."""
        begin, end = self.network.encode_words(self.get_buffer("_markers")).split(1)  # (1, P) each
        return torch.cat([part for piece in flat.split(sizes) for part in (begin, piece, end)])

    def _contextualise(self, tokens: Tensor, packing: Packing) -> list[Tensor]:
        if self._carried is None:
            return self.network.contextualise(tokens, packing)[0]
        before = self._carried.before(len(packing.lengths))
        layers, final = self.network.contextualise(tokens, packing, before)
        self._carried.after(final)
        return layers


def padding_id(indexer: Indexer) -> int:
    """What fills the rows of padding: 0 for byte characters, which no byte has as its id, -1 for any other indexer."""
    return 0 if isinstance(indexer, ByteCharacters) else -1


def padded_ids(indexer: Indexer, sentences: Iterable[Sequence[str]]) -> Tensor:
    """The ids of sentences, padded by rows of `padding_id`: (B, T, W)."""
    read = list(checked(sentences))
    rows: dict[str, int] = {}  # of the distinct words; row 0 is padding
    which = torch.zeros(len(read), max(map(len, read), default=0), dtype=torch.long)  # (B, T)
    for row, sentence in zip(which, read, strict=True):
        numbers = [rows.setdefault(token, len(rows) + 1) for token in sentence]
        row[: len(sentence)] = torch.tensor(numbers, dtype=torch.long)
    distinct = torch.from_numpy(indexer.ids(list(rows)))  # (U, W)
    return torch.cat([distinct.new_full((1, indexer.width), padding_id(indexer)), distinct])[which]
