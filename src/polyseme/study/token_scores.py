"""How likely is each token of a sentence, as a record?"""

import math
from collections.abc import Iterator, Sequence

from polyseme.embed.embedder import Embedder
from polyseme.files.whole import JSON


def token_scores(embedder: Embedder, sentences: Sequence[Sequence[str]]) -> Iterator[dict[str, JSON]]:
    """Score sentences: natural log-probabilities and surprisal in bits, forward and backward."""
    words = embedder.model.vocabulary
    for tokens, scores in zip(sentences, embedder.score(sentences), strict=True):
        forward, backward = ([float(value) for value in column] for column in scores.T)
        yield {
            "tokens": [*tokens],
            "known": [words is not None and token in words for token in tokens],
            "forward": [*forward],
            "backward": [*backward],
            "forward_surprisal": [_bits(value) for value in forward],
            "backward_surprisal": [_bits(value) for value in backward],
        }


def _bits(log_probability: float) -> float:
    return -log_probability / math.log(2)
