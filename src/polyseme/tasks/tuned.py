"""A contextual network that learns with a task, from its top layer down.

Shapes: U distinct words, W ids of a word, N tokens of a batch in flat order, D width of a layer.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from polyseme.models.model import Model
from polyseme.nn.packing import Packing


class TunedNetwork(nn.Module):
    """The layers of a biLM, whose LSTMs learn and whose token encoder stays as it is.

    Args:
        model: A biLM. It is copied, so that the source it belongs to stays as it is.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = replace(model.without_softmax(), mixes=())
        self.network = copy.deepcopy(self._model.bilm)
        self.network.requires_grad_(True).token_encoder.requires_grad_(False)
        self.register_buffer("_markers", torch.from_numpy(model.indexer.boundaries), persistent=False)  # (2, W)

    def model(self) -> Model:
        """The tuned network as a model that can be saved."""
        return replace(self._model, network=self.network, path=None)

    def unfreeze(self, layers: int) -> None:
        """Let this many layers learn, from the top down."""
        self.network.encoder.requires_grad_(False)
        for stack in self._stacks():
            for layer in list(stack)[max(0, len(stack) - layers) :]:
                layer.requires_grad_(True)

    def forward(self, ids: Tensor, types: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """All layers of a batch.

        Args:
            ids: (U, W) of the distinct words.
            types: (N,) which of them each token is.
            lengths: Tokens of each sentence.

        Returns:
            One (N, D) for each layer.
        """
        with torch.no_grad():
            markers = self.network.encode_words(self.get_buffer("_markers"))
            distinct = torch.cat([self.network.encode_words(ids), markers])  # (U + 2, P)
        begin, end = types.new_tensor([len(ids)]), types.new_tensor([len(ids) + 1])
        marked = torch.cat([part for one in types.split(list(lengths)) for part in (begin, one, end)])
        packing = Packing.of([length + 2 for length in lengths], types.device)
        layers, _ = self.network.contextualise(distinct[marked], packing)
        inner = packing.packed_of_flat[marked < len(ids)]  # (N,) without the markers
        return [layer[inner] for layer in layers]

    def _stacks(self) -> list[nn.ModuleList]:
        """The layers of each direction."""
        found = [getattr(self.network.encoder, name) for name in ("forward_layers", "backward_layers")]
        return [stack for stack in found if isinstance(stack, nn.ModuleList)]
