"""The biLM within AllenNLP's `Elmo`: character ids to all layers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.compat._elmo_state import take_over
from polyseme.errors import InputError
from polyseme.formats.detect import open_model
from polyseme.models.bilm import BiLM
from polyseme.models.carried_state import CarriedState
from polyseme.nn.packing import Packing
from polyseme.text.characters import ByteCharacters


class _ElmoBiLm(nn.Module):
    """All layers of a biLM for character ids, sentence markers included.

    Args:
        options_file: ``options.json``; None where ``weight_file`` is a model of any format that `load` takes.
        weight_file: ``weights.hdf5``.
        requires_grad: Whether the biLM learns with the task.
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
        if not isinstance(model.indexer, ByteCharacters):
            raise InputError(
                f"{weight_file}: a {model.config.source} model does not read byte characters, so batch_to_ids cannot "
                "feed it; use polyseme.load(...).embed(sentences)"
            )
        # Without the softmax: no task asks it, and it would be a parameter without a gradient.
        self.bilm = BiLM(model.bilm.token_encoder, model.bilm.encoder, None).requires_grad_(requires_grad)
        self._indexer = model.indexer
        self.register_buffer("_markers", torch.from_numpy(model.indexer.boundaries), persistent=False)  # (2, C)
        self._carried = CarriedState() if stateful else None
        self._cached: nn.Embedding | None = None
        if vocab_to_cache:
            self.create_cached_cnn_embeddings(vocab_to_cache)

    @property
    def num_layers(self) -> int:
        """Layers, the token layer included."""
        return self.bilm.layers

    def get_output_dim(self) -> int:
        """Width of a layer."""
        return self.bilm.dim

    @torch.no_grad()
    def create_cached_cnn_embeddings(self, tokens: Sequence[str]) -> None:
        """Compute the token vectors of words once; `forward` then takes their positions as ``word_inputs``."""
        ids = torch.from_numpy(self._indexer.ids(list(tokens))).to(self._marker_rows.device)
        learns = any(parameter.requires_grad for parameter in self.bilm.parameters())
        self._cached = nn.Embedding.from_pretrained(self.bilm.encode_words(ids), freeze=not learns)

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Any]:
        """Run the biLM.

        Args:
            inputs: (B, T, 50) character ids, zeros at padding.
            word_inputs: (B, T) positions in ``vocab_to_cache``, 0 at padding.

        Returns:
            ``activations``, one (B, T + 2, D) a layer with the markers in place, and ``mask`` (B, T + 2).
        """
        if self._cached is not None and word_inputs is not None and (word_inputs < self._cached.num_embeddings).all():
            mask: Tensor = word_inputs.gt(0)
            flat: Tensor = self._cached(word_inputs[mask])  # (N, P) without markers
        else:  # as AllenNLP: one word outside the cache sends the whole batch through its characters
            mask = (inputs > 0).any(dim=-1)
            flat = self.bilm.encode_tokens(inputs[mask])
        sizes: list[int] = mask.sum(dim=1).tolist()
        length = mask.shape[1] + 2
        # In the weights' own number type: under autocast the layers come in several.
        padded = flat.new_zeros(len(sizes), length, self.bilm.dim, dtype=next(self.bilm.parameters()).dtype)
        if not sizes:
            return {"activations": [padded] * self.bilm.layers, "mask": mask.new_zeros(0, length)}
        begin, end = self.bilm.encode_words(self._marker_rows).split(1)  # (1, P) each
        # A row without tokens still has its two markers.
        tokens = torch.cat([part for piece in flat.split(sizes) for part in (begin, piece, end)])  # (N, P)
        packing = Packing.of([size + 2 for size in sizes], tokens.device)
        if self._carried is None:
            layers, _ = self.bilm.contextualise(tokens, packing)
        else:
            layers, final = self.bilm.contextualise(tokens, packing, self._carried.before(len(sizes)))
            self._carried.after(final)
        with_markers = torch.arange(length, device=mask.device) < mask.sum(dim=1, keepdim=True) + 2  # (B, T + 2)
        place = with_markers.unsqueeze(-1)
        activations = [padded.masked_scatter(place, layer[packing.packed_of_flat].to(padded.dtype)) for layer in layers]
        return {"activations": activations, "mask": with_markers}

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take over what AllenNLP saved as well as what this class saves."""
        take_over(state_dict, prefix, self.bilm)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @property
    def _marker_rows(self) -> Tensor:
        return self.get_buffer("_markers")
