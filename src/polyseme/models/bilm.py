"""The bidirectional language model."""

from collections.abc import Callable

import torch
from torch import Tensor

from polyseme.errors import InputError
from polyseme.models.config import (
    BiLMConfig,
    CharacterEncoderConfig,
    GatedCnnEncoderConfig,
    GruEncoderConfig,
    LstmEncoderConfig,
)
from polyseme.models.encoders import ContextEncoder, EncoderState, LstmEncoder
from polyseme.models.gated_cnn_encoder import GatedCnnEncoder
from polyseme.models.gru_encoder import GruEncoder
from polyseme.models.inference import InferenceLstm, InferenceTokenEncoder
from polyseme.models.network import Network
from polyseme.models.token_encoders import CharacterTokenEncoder, TokenEncoder, WordTokenEncoder
from polyseme.nn.adaptive_softmax import AdaptiveSoftmax
from polyseme.nn.kernels.packed import PRECISIONS, Precision
from polyseme.nn.packing import Packing
from polyseme.nn.softmax import FullSoftmax, Softmax

_ENCODERS: dict[type, Callable[..., ContextEncoder]] = {
    LstmEncoderConfig: LstmEncoder,
    GruEncoderConfig: GruEncoder,
    GatedCnnEncoderConfig: GatedCnnEncoder,
}


class BiLM(Network):
    """A token encoder, a context encoder and optionally a softmax over words.

    Layer 0 is the token vector twice, side by side; layer j is the forward and the backward state of the encoder's
    layer j. Sentences come between their boundary markers.
    """

    marks_sentences = True

    def __init__(self, token_encoder: TokenEncoder, encoder: ContextEncoder, softmax: Softmax | None = None) -> None:
        super().__init__()
        self.token_encoder = token_encoder
        self.encoder = encoder
        self.softmax = softmax
        self.layers = encoder.layers + 1
        self.projection_dim = token_encoder.dim
        self.dim = 2 * token_encoder.dim

    @classmethod
    def from_config(cls, config: BiLMConfig) -> "BiLM":
        """Build a biLM with random weights."""
        tokens = config.token_encoder
        token_encoder: TokenEncoder
        if isinstance(tokens, CharacterEncoderConfig):
            token_encoder = CharacterTokenEncoder(
                dim=config.projection_dim, **tokens.model_dump(exclude={"kind", "alphabet", "max_characters"})
            )
        else:
            token_encoder = WordTokenEncoder(dim=config.projection_dim, words=tokens.words)
        kind = _ENCODERS[type(config.encoder)]
        encoder = kind(projection_dim=config.projection_dim, **config.encoder.model_dump(exclude={"kind"}))
        softmax: Softmax | None = None
        if config.softmax_cutoffs:
            softmax = AdaptiveSoftmax(config.projection_dim, config.vocabulary_size, config.softmax_cutoffs)
        elif config.vocabulary_size:
            softmax = FullSoftmax(config.projection_dim, config.vocabulary_size)
        return cls(token_encoder, encoder, softmax)

    def contextualise(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """All layers of a batch of token vectors; see `Network`."""
        packed = tokens[packing.flat_of_packed]
        layers, final = self.encoder(packed, packing, state)
        return [torch.cat([packed, packed], dim=1), *layers], final

    def for_inference(self, precision: Precision) -> "BiLM":
        """The same biLM with the same weights, without gradients, in this precision."""
        if precision not in PRECISIONS:
            raise InputError(f"unknown precision {precision!r}; expected {', '.join(map(repr, PRECISIONS))}")
        tokens, encoder = self.token_encoder, self.encoder
        if precision != "float32" and not isinstance(encoder, LstmEncoder):
            raise InputError(f"precision {precision!r} is for LSTM encoders; this model has another, use 'float32'")
        return BiLM(
            InferenceTokenEncoder(tokens, precision) if isinstance(tokens, CharacterTokenEncoder) else tokens,
            InferenceLstm(encoder, precision) if isinstance(encoder, LstmEncoder) else encoder,
            self.softmax,
        )

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """All layers of a padded batch.

        Args:
            ids: (B, T, W) token ids, sentence markers included.
            lengths: (B,) the number of tokens of each sentence; 0 for a row of padding.

        Returns:
            (L, B, T, D), zero at padding.
        """
        mask = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)  # (B, T)
        result = ids.new_zeros((self.layers, *ids.shape[:2], self.dim), dtype=next(self.parameters()).dtype)
        sizes = [size for size in lengths.tolist() if size]
        if not sizes:
            return result
        packing = Packing.of(sizes, ids.device)
        layers, _ = self.contextualise(self.encode_tokens(ids[mask]), packing)
        flat = torch.stack([layer[packing.packed_of_flat] for layer in layers])  # (L, N, D)
        return result.masked_scatter(mask[None, :, :, None], flat.to(result.dtype))  # autocast has types of its own
