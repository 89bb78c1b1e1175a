"""The MT-LSTM: the encoder of a translator, whose states are CoVe vectors (McCann et al. 2017).

Shapes: V words with a vector, I width of a static vector, H cells of a direction, P the larger of I and H.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from polyseme.errors import InputError
from polyseme.models.config import LearntTextConfig, Rows, Size
from polyseme.models.encoders import EncoderState
from polyseme.models.model import Model
from polyseme.models.network import Network
from polyseme.models.token_encoders import TokenEncoder
from polyseme.nn.bilstm import BiLstm
from polyseme.nn.kernels.packed import PRECISIONS, Precision
from polyseme.nn.packing import Packing
from polyseme.text.segmentation import Segmentation
from polyseme.text.table_words import TableWords


class MtLstmConfig(LearntTextConfig):
    """Everything needed to build an MT-LSTM before its weights are read."""

    format: Literal["polyseme cove"] = "polyseme cove"
    version: Literal[1] = 1
    words: Rows = Field(description="Words that have a static vector.")
    input_dim: Size = Field(description="Width of a static vector.")
    hidden_dim: Size = Field(description="Cells of each direction of a layer.")
    layers: Annotated[int, Field(ge=1, le=64)] = Field(default=2, description="LSTM layers.")
    case_backoff: bool = Field(
        default=False, description="Whether a word without a vector gets that of the same word in another case."
    )
    source: str = Field(default="polyseme cove", description="The format the weights came from.")
    source_options: None = None

    def computation(self) -> str:
        """Every setting that the layers depend on, as text."""
        return self.model_dump_json(include={"format", "input_dim", "hidden_dim", "layers"})


class StaticTokenEncoder(TokenEncoder):
    """A table of static vectors; ids are (U, 1), and an id beyond the table is a word without a vector: zeros."""

    def __init__(self, *, words: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.vectors = nn.Parameter(torch.zeros(words, dim))

    def forward(self, ids: Tensor) -> Tensor:
        """Look words up: (U, 1) to (U, I)."""
        rows = ids[:, 0].long()
        known = rows < len(self.vectors)
        return functional.embedding(rows.clamp(max=len(self.vectors) - 1), self.vectors) * known.unsqueeze(1)


class MtLstm(Network):
    """Static vectors, and LSTM layers of which each reads both directions of the one below.

    Every layer is two halves of width P. Layer 0 is the static vector twice, as for a biLM; layer j is the forward and
    the backward state of LSTM layer j. A half that is narrower than P (published weights have none) ends in zeros,
    which change neither lengths nor cosines; `narrow` takes them off. Sentences come without markers.
    """

    marks_sentences = False
    token_encoder: StaticTokenEncoder

    def __init__(self, token_encoder: StaticTokenEncoder, lstm: BiLstm) -> None:
        super().__init__()
        if lstm.input_dim != token_encoder.dim:
            raise InputError(f"the LSTM reads vectors of width {lstm.input_dim}, the table has {token_encoder.dim}")
        self.token_encoder = token_encoder
        self.lstm = lstm
        self.layers = lstm.layers + 1
        self.half_dim = max(token_encoder.dim, lstm.hidden_dim)
        self.dim = 2 * self.half_dim

    @classmethod
    def from_config(cls, config: MtLstmConfig) -> "MtLstm":
        """Build an MT-LSTM whose vectors are zeros and whose LSTMs are random."""
        lstm = BiLstm(input_dim=config.input_dim, hidden_dim=config.hidden_dim, layers=config.layers)
        return cls(StaticTokenEncoder(words=config.words, dim=config.input_dim), lstm)

    def contextualise(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """All layers of a batch of token vectors; see `Network`. No state is carried from sentence to sentence."""
        packed = tokens[packing.flat_of_packed]
        outputs = self.lstm(packed, packing)
        halves = [(packed, packed), *(output.chunk(2, dim=1) for output in outputs)]
        return [self._widen(ahead, back) for ahead, back in halves], EncoderState(())

    def for_inference(self, precision: Precision) -> "MtLstm":
        """The same network; it computes in float32 only."""
        if precision not in PRECISIONS:
            raise InputError(f"unknown precision {precision!r}; expected {', '.join(map(repr, PRECISIONS))}")
        if precision != "float32":
            raise InputError(f"precision {precision!r} is for the LSTMs of a biLM; CoVe computes in 'float32'")
        return self

    def narrow(self, layer: Tensor, number: int) -> Tensor:
        """A layer (..., D) without repetition and zeros: (..., I) for layer 0, (..., 2H) for the others."""
        if number == 0:
            return layer[..., : self.token_encoder.dim]
        width = self.lstm.hidden_dim
        return torch.cat([layer[..., :width], layer[..., self.half_dim : self.half_dim + width]], dim=-1)

    def _widen(self, ahead: Tensor, back: Tensor) -> Tensor:
        """Two halves side by side, each filled up with zeros: (N, 2P)."""
        room = self.half_dim - ahead.shape[1]
        return torch.cat([functional.pad(half, (0, room)) if room else half for half in (ahead, back)], dim=1)


def cove_model(
    words: Sequence[str],
    vectors: Tensor,
    lstm: BiLstm,
    *,
    case_backoff: bool,
    segmentation: Segmentation | None = None,
    source: str = "polyseme cove",
) -> Model:
    """A CoVe model from its parts, ready to embed or to be written.

    Args:
        words: The words that have a vector.
        vectors: (V, I), their vectors; used, not copied.
        lstm: The encoder of the translator; its weights are used, not copied.
        case_backoff: Whether a word without a vector gets that of the same word in another case.
        segmentation: How the text that it learnt from was tokenised.
        source: The format the weights came from.
    """
    if len(words) != len(vectors):
        raise InputError(f"got {len(words):,} words and {len(vectors):,} vectors; expected one vector for each word")
    text = segmentation or Segmentation()
    config = MtLstmConfig(
        words=len(words),
        input_dim=vectors.shape[1],
        hidden_dim=lstm.hidden_dim,
        layers=lstm.layers,
        case_backoff=case_backoff,
        tokenize=text.tokenizer,
        dictionary=tuple(text.dictionary.words) if text.dictionary else None,
        source=source,
    )
    with torch.device("meta"):
        tokens = StaticTokenEncoder(words=len(words), dim=vectors.shape[1])
    tokens.vectors = nn.Parameter(vectors.detach(), requires_grad=False)
    return Model(config, MtLstm(tokens, lstm), TableWords(words, case_backoff=case_backoff))
