"""The attentional translator whose encoder gives CoVe (McCann et al. 2017): words in, the next words' states out.

The encoder reads static vectors, which do not learn. The decoder's word vectors are the rows of its softmax, so that a
batch touches a few rows of one table. Shapes: see `polyseme.nn.attention_decoder`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyseme.nn.attention_decoder import AttentionDecoder, DecoderState
from polyseme.nn.attention_steps import Memory
from polyseme.nn.bilstm import BiLstm
from polyseme.nn.packing import Packing
from polyseme.nn.softmax import FullSoftmax


@dataclass(frozen=True)
class Read:
    """Source sentences that the encoder has read, in the order that was asked for."""

    memory: Memory
    state: DecoderState


class Translator(nn.Module):
    """Encoder, decoder and softmax.

    Args:
        vector_dim: Width of a static vector.
        encoder_dim: Cells of each direction of the encoder, so that a source state has twice as many numbers.
        encoder_layers: Layers of the encoder.
        decoder_dim: Width of the decoder and of its word vectors.
        vocabulary_size: Words that the decoder can write.
        dropout: Between the layers of the encoder, on its output, on the decoder's word vectors and on what the softmax
            reads, while training.
    """

    def __init__(
        self,
        *,
        vector_dim: int,
        encoder_dim: int,
        encoder_layers: int,
        decoder_dim: int,
        vocabulary_size: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = BiLstm(input_dim=vector_dim, hidden_dim=encoder_dim, layers=encoder_layers, dropout=dropout)
        self.decoder = AttentionDecoder(input_dim=decoder_dim, hidden_dim=decoder_dim, memory_dim=self.encoder.dim)
        self.softmax = FullSoftmax(decoder_dim, vocabulary_size)
        self.dropout = dropout

    def read(self, vectors: Tensor, packing: Packing, order: Tensor) -> Read:
        """Read source sentences.

        Args:
            vectors: (N, vector_dim) static vectors in packed order.
            packing: The layout of the source sentences.
            order: (B,) in which order the decoder takes the sentences.
        """
        outputs, finals = self.encoder.run(vectors, packing)
        states = nn.functional.dropout(outputs[-1], self.dropout, self.training)
        where, mask = source_rows(packing, order)
        memory = self.decoder.remember(states, where, mask)
        return Read(memory, self.decoder.begin(finals[-1].hidden[order]))

    def write(self, words: Tensor, packing: Packing, read: Read) -> Tensor:
        """The states (N, D) that predict the next word after each of the packed word vectors (N, D)."""
        words = nn.functional.dropout(words, self.dropout, self.training)
        states = self.decoder(words, packing, read.memory, read.state)
        return nn.functional.dropout(states, self.dropout, self.training)

    def next_words(self, words: Tensor, read: Read) -> tuple[Tensor, Read, Tensor]:
        """One step of a search: log-probabilities (B, V) of the next word, what is read after it, attention (B, S).

        Args:
            words: (B,) the last word of each sentence.
            read: What the decoder has read and written so far.
        """
        state, attention = self.decoder.step(self.softmax.weight[words], read.memory, read.state)
        return self.softmax(state.attentional), Read(read.memory, state), attention


def source_rows(packing: Packing, order: Tensor) -> tuple[Tensor, Tensor]:
    """The packed row (B, S) of each token of each sentence, sentences in some order, and where there is one."""
    lengths = torch.tensor(packing.lengths, device=order.device)
    first = (lengths.cumsum(0) - lengths)[order]
    place = torch.arange(max(packing.lengths), device=order.device)
    mask = place < lengths[order].unsqueeze(1)
    flat = (first.unsqueeze(1) + place).masked_fill(~mask, 0)
    return packing.packed_of_flat[flat], mask
