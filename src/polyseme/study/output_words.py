"""Words as the rows of a biLM's softmax: near each other are words that are predicted in the same places."""

import numpy as np

from polyseme.errors import InputError
from polyseme.models.model import Model
from polyseme.models.static import WordVectors
from polyseme.nn.softmax import FullSoftmax
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE


def output_words(model: Model) -> WordVectors:
    """The softmax as a table of word vectors, without markers; the mean of all rows is subtracted."""
    softmax, vocabulary = model.output_layer(
        consequence="it has no output embeddings", advice="use an index of a text, or static vectors"
    )
    if not isinstance(softmax, FullSoftmax):
        raise InputError(
            "an adaptive softmax does not have one row per word; use an index of a text, or static vectors"
        )
    markers = {BEGIN_SENTENCE, END_SENTENCE, vocabulary.words[vocabulary.unknown]}
    chosen = {word: row for word, row in vocabulary.ids.items() if word not in markers}
    rows = softmax.weight.detach().cpu().numpy()[list(chosen.values())]  # (W, P)
    return WordVectors(chosen, np.asarray(rows - rows.mean(axis=0), dtype=np.float32), source="a softmax")
