"""The biLM inside AllenNLP's `Elmo`, with AllenNLP's names."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from torch import Tensor, nn

from polyseme.formats.allennlp_state import State, rename_network
from polyseme.formats.detect import open_model
from polyseme.models.elmo_layers import ElmoLayers


class BiLmOutput(TypedDict):
    """What AllenNLP's biLM returns."""

    activations: list[Tensor]
    """One (B, T + 2, D) per layer, sentence markers included."""
    mask: Tensor
    """(B, T + 2)"""


class ElmoBiLm(nn.Module):
    """All layers of a biLM for character ids, sentence markers included.

    Args:
        options_file: ``options.json``; None if ``weight_file`` is a model of any format that `load` takes.
        weight_file: ``weights.hdf5``.
        requires_grad: Whether the biLM is trained with the task.
        vocab_to_cache: Words whose token vectors are computed once; ``word_inputs`` are positions in this list.
        stateful: Carry state from batch to batch, as AllenNLP does.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path,
        requires_grad: bool = False,
        vocab_to_cache: Sequence[str] | None = None,
        *,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        model = open_model(weight_file if options_file is None else (options_file, weight_file))
        self.encoder = ElmoLayers(model, requires_grad=requires_grad, cached_words=vocab_to_cache, stateful=stateful)

    @classmethod
    def around(cls, encoder: ElmoLayers) -> "ElmoBiLm":
        """The same interface for layers that are already loaded."""
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made.encoder = encoder
        return made

    @property
    def num_layers(self) -> int:
        """The number of layers, the token layer included."""
        return self.encoder.network.layers

    def get_output_dim(self) -> int:
        """The width D of a layer."""
        return self.encoder.network.dim

    def create_cached_cnn_embeddings(self, tokens: Sequence[str]) -> None:
        """Compute the token vectors of words once; `forward` then takes their positions as ``word_inputs``."""
        self.encoder.cache_words(tokens)

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> BiLmOutput:
        """Run the biLM on character ids (B, T, 50), zeros at padding, and optionally positions of cached words."""
        layers, mask = self.encoder(inputs, word_inputs)
        return BiLmOutput(activations=layers, mask=mask)

    def _load_from_state_dict(
        self, state_dict: State, prefix: str, metadata: object, strict: bool, *lists: list[str]
    ) -> None:
        """Read what AllenNLP saved as well as what this class saves."""
        rename_network(state_dict, prefix, f"{prefix}encoder.", self.encoder.network)
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, *lists)
