"""ELMo vectors for a task: one run of a network, and a learned mix of its layers for each output."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.models.elmo_layers import ElmoLayers
from polyseme.models.model import Model
from polyseme.nn.scalar_mix import ScalarMix


class ElmoOutput(NamedTuple):
    """ELMo vectors of a padded batch."""

    vectors: list[Tensor]
    """One (B, T, D) per mix, zero at padding."""
    mask: Tensor
    """(B, T), true at tokens."""


class Elmo(nn.Module):
    """A module that a task model holds: ids of sentences to mixed layers.

    Args:
        source: An opened model, or the layers of one.
        mixes: How many mixes to learn (1 for a task's input, 2 for its input and output), or the mixes themselves. By
            default those that were saved with the model, or a single new one.
        requires_grad: Whether the network learns with the task.
        dropout: On the mixed vectors, while training.
        cached_words: Words whose token vectors are computed once.
        keep_boundaries: Leave the sentence markers in the output.
        stateful: Carry state from batch to batch, as the original software does.

    Example:
        >>> from polyseme.formats.detect import open_model
        >>> elmo = Elmo(open_model("english-small"), dropout=0)
        >>> elmo(elmo.ids([["The", "river", "bank"]])).vectors[0].shape
        torch.Size([1, 3, 256])
    """

    def __init__(
        self,
        source: Model | ElmoLayers,
        mixes: int | Sequence[ScalarMix] | None = None,
        *,
        requires_grad: bool = False,
        dropout: float = 0.5,
        cached_words: Sequence[str] | None = None,
        keep_boundaries: bool = False,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(source, Model):
            source = ElmoLayers(source, requires_grad=requires_grad, cached_words=cached_words, stateful=stateful)
        self.encoder = source
        self.keep_boundaries = keep_boundaries
        self.dropout = nn.Dropout(dropout)
        layers = source.network.layers
        if mixes is None:
            mixes = source.model.mixes or 1
        made = [ScalarMix(layers) for _ in range(mixes)] if isinstance(mixes, int) else mixes
        self._outputs = len(made)
        for number, mix in enumerate(made):
            if len(mix.weights) != layers:
                raise InputError(
                    f"mix {number} is of {len(mix.weights)} layers but the model has {layers}; use ScalarMix({layers})"
                )
            self.add_module(f"scalar_mix_{number}", mix)

    @property
    def mixes(self) -> list[ScalarMix]:
        """The mixes, one per output; they are the submodules ``scalar_mix_0`` and so on."""
        modules = (self.get_submodule(f"scalar_mix_{number}") for number in range(self._outputs))
        return [mix for mix in modules if isinstance(mix, ScalarMix)]

    @property
    def dim(self) -> int:
        """The length of an ELMo vector."""
        return self.encoder.network.dim

    def ids(self, sentences: Iterable[Sequence[str]]) -> Tensor:
        """The ids of sentences as `forward` takes them, padded: (B, T, W).

        Rows of padding hold 0 for a model of bytes, as `batch_to_ids` gives them, and -1 for any other model, where 0
        may be the id of a character.
        """
        return self.encoder.ids(sentences)

    def forward(self, ids: Tensor, word_ids: Tensor | None = None) -> ElmoOutput:
        """ELMo vectors of a batch.

        Args:
            ids: (B, T, W) as `ids` gives them; more dimensions in front are kept.
            word_ids: (B, T) positions in ``cached_words``, 0 at padding.
        """
        given: object = ids
        if not isinstance(given, Tensor):
            raise InputError(
                f"got a {type(given).__name__} where ids are expected; give elmo(batch_to_ids(sentences)), or "
                "elmo(elmo.ids(sentences)) for a model of any kind; a sentence is a list of tokens"
            )
        front = ids.shape[:-2]
        rows = math.prod(front)  # -1 would not do if there are no tokens
        layers, mask = self.encoder(
            ids.reshape(rows, *ids.shape[-2:]),
            None if word_ids is None else word_ids.reshape(rows, word_ids.shape[-1]),
        )
        mixed = [mix(layers, mask) for mix in self.mixes]
        if self.encoder.network.marks_sentences and not self.keep_boundaries:
            # The markers are first and last in a row, so without them the tokens move one place to the left.
            mask = mask[:, 2:]
            mixed = [vectors[:, 1:-1] * mask.unsqueeze(-1) for vectors in mixed]
        return ElmoOutput(
            [self.dropout(vectors).reshape(*front, *vectors.shape[1:]) for vectors in mixed],
            mask.reshape(*front, mask.shape[-1]),
        )

    def as_model(self) -> Model:
        """The network as it is now, with its mixes, to be written by `polyseme.formats.native`."""
        return replace(self.encoder.model, path=None, mixes=tuple(self.mixes))
