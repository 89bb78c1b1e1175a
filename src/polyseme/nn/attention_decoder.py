"""An LSTM that writes one word at a time and looks at a source sentence before each (Luong et al. 2015).

In the notation of McCann et al. (2017), with H the states of the source sentence, z the vectors of the words written so
far and h~ the attentional states::

    h_t  = LSTM([z_t-1; h~_t-1], h_t-1)
    a_t  = softmax(H (W1 h_t + b1))
    h~_t = tanh(W2 [H^T a_t; h_t] + b2)

W1 and the first half of W2 are applied to H once for each sentence rather than at each step: H (W1 h) = (H W1) h, and
W2 [H^T a; h] = (H W2a^T)^T a + W2b h. Because the weights a sum to 1, b2 can be added to H W2a^T.

Shapes besides the legend of `polyseme.nn`: S source tokens of the longest sentence, E width of a source state, I width
of a word vector, D width of the decoder.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyseme.nn.attention_steps import Memory, attention_steps, one_step
from polyseme.nn.packing import Packing


@dataclass(frozen=True)
class DecoderState:
    """What the decoder remembers between two words."""

    hidden: Tensor
    """(B, D)"""
    cell: Tensor
    """(B, D)"""
    attentional: Tensor
    """(B, D) h~ of the last step, which is fed in."""

    def rows(self, which: Tensor) -> "DecoderState":
        """The state of some rows."""
        return DecoderState(self.hidden[which], self.cell[which], self.attentional[which])


class AttentionDecoder(nn.Module):
    """The decoder without its vectors of words and its softmax.

    The gates are in the order input, forget, output, candidate.

    Args:
        input_dim: Width I of a word vector.
        hidden_dim: Width D of the states.
        memory_dim: Width E of a source state.
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, memory_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_dim, input_dim))
        self.weight_fh = nn.Parameter(torch.empty(4 * hidden_dim, hidden_dim))
        """The part of the gates that reads h~."""
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_dim, hidden_dim))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_dim))
        self.query = nn.Linear(hidden_dim, memory_dim)
        """W1 and b1."""
        self.mix = nn.Linear(memory_dim + hidden_dim, hidden_dim)
        """W2 and b2."""
        self.start = nn.Linear(memory_dim, 2 * hidden_dim)
        """From the last states of the encoder to the first hidden and cell states."""
        for weight in (self.weight_ih, self.weight_fh, self.weight_hh):
            nn.init.uniform_(weight, -(hidden_dim**-0.5), hidden_dim**-0.5)
        with torch.no_grad():
            self.bias[hidden_dim : 2 * hidden_dim] = 1.0  # remember at first

    def begin(self, final: Tensor) -> DecoderState:
        """The state before the first word, from what the encoder remembers of each sentence: (B, E)."""
        hidden, cell = self.start(final).chunk(2, dim=1)
        hidden = hidden.tanh()
        return DecoderState(hidden, cell, torch.zeros_like(hidden))

    def remember(self, states: Tensor, where: Tensor, mask: Tensor) -> Memory:
        """Prepare source states for attention.

        Args:
            states: (N, E) of all sentences.
            where: (B, S) the row of each source token; at padding any row.
            mask: (B, S) true at tokens.
        """
        across = self.mix.weight[:, : states.shape[1]]  # (D, E)
        keys = states @ self.query.weight  # (N, D)
        values = nn.functional.linear(states, across, self.mix.bias)  # (N, D)
        offsets = (states.to(self.query.bias.dtype) * self.query.bias).sum(dim=1)  # (N,) in no product of fewer bits
        both = nn.functional.embedding(where, torch.cat([keys, values], dim=1))  # (B, S, 2D)
        return Memory(both, offsets[where].masked_fill(~mask, float("-inf")))

    def forward(self, words: Tensor, packing: Packing, memory: Memory, state: DecoderState) -> Tensor:
        """Attentional states h~ (N, D) for packed words (N, I), each the word before the one that h~ predicts.

        Args:
            words: In packed order.
            packing: The layout of the target sentences.
            memory: The source sentences, in packed rank order (longest target first).
            state: The state before the first word, in the same order.
        """
        gates = nn.functional.linear(words, self.weight_ih, self.bias)
        recurrent = torch.cat([self.weight_fh, self.weight_hh], dim=1)  # (4D, 2D)
        across = self.mix.weight[:, -self.hidden_dim :]
        return attention_steps(gates, recurrent, across, memory, state.hidden, state.cell, packing.batch_sizes)

    def step(self, words: Tensor, memory: Memory, state: DecoderState) -> tuple[DecoderState, Tensor]:
        """One step without gradients: words (B, I) to the next state and the attention (B, S)."""
        gates = nn.functional.linear(words, self.weight_ih, self.bias)
        recurrent = torch.cat([self.weight_fh, self.weight_hh], dim=1)
        across = self.mix.weight[:, -self.hidden_dim :]
        inputs = torch.cat([state.attentional, state.hidden], dim=1)
        hidden, cell, attentional, attention = one_step(gates, inputs, state.cell, recurrent, across, memory)
        return DecoderState(hidden, cell, attentional), attention
