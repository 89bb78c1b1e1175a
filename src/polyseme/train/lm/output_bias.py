"""The biases of the words to predict before anything is learnt: how often each word occurs."""

import numpy as np
import torch

from polyseme.nn.softmax import FullSoftmax
from polyseme.train.lm.text_store import TextStore, chunks


def set_biases(softmax: FullSoftmax, store: TextStore) -> None:
    """Set each bias to the logarithm of its word's share of the training text, each counted once more than it is.

    With rows that say nothing yet, the softmax then predicts each word as often as it occurs. An optimiser that moves a
    bias by at most its rate takes thousands of updates to get there, and a rare word takes part in few.
    """
    counts = np.zeros(len(store.vocabulary), dtype=np.int64)
    for some in chunks(store.training.types):
        counts += np.bincount(store.outputs[some], minlength=len(counts))
    share = (counts + 1) / (counts + 1).sum()
    with torch.no_grad():
        softmax.bias.copy_(torch.from_numpy(np.log(share)))
