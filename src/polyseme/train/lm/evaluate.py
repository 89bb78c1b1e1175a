"""Perplexity of the full softmax, of each direction, with and without unknown words."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.models.bilm import BiLM
from polyseme.models.model import Model
from polyseme.nn.packing import Packing
from polyseme.text.batching import windows
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE, Ids, Indexer
from polyseme.train.engine.distributed import World
from polyseme.train.lm.text_store import BEGIN, END, TextPart, TextStore, evenly

LONGEST = 4096
"""Longer sentences are measured in pieces of this many tokens, to bound memory."""


@dataclass(frozen=True)
class Perplexity:
    """How well a text is predicted: exp of the mean negative log-probability of its tokens, over the whole vocabulary.

    The forward direction predicts every token and the end marker, the backward one every token and the begin marker.
    The average is the mean of the two perplexities, as Peters et al. (2018) report it.
    """

    forward: float
    backward: float
    average: float
    forward_known: float
    """The average without the predictions of <UNK>."""
    backward_known: float
    average_known: float
    tokens: int
    """Without markers."""
    unknown_share: float
    """The share of tokens that are not in the vocabulary."""

    def to_dict(self) -> dict[str, JSON]:
        """As plain values."""
        return asdict(self)


class _Tally:
    """Sums over batches, one column per direction."""

    def __init__(self, bilm: BiLM, unknown: int) -> None:
        assert bilm.softmax is not None
        self._bilm, self._softmax, self._unknown = bilm, bilm.softmax, unknown
        # Summed loss, predictions, loss of unknown words, unknown words; forward then backward.
        self.sums = np.zeros((2, 4))

    @torch.inference_mode()
    def add(self, ids: Tensor, where: NDArray[np.int64], outputs: NDArray[np.int64], lengths: Sequence[int]) -> None:
        """Add the losses of a batch of sentences.

        Args:
            ids: (U, W) the ids of distinct words.
            where: (N,) the row of each token in ``ids``, sentence after sentence, markers included.
            outputs: (N,) the output word of each token.
            lengths: The lengths of the sentences.
        """
        packing = Packing.of(lengths, ids.device)
        vectors = self._bilm.encode_words(ids)[torch.from_numpy(where).to(ids.device)]
        layers, _ = self._bilm.contextualise(vectors, packing)
        top = layers[-1][packing.packed_of_flat]
        ends = np.cumsum(lengths)
        flat = np.arange(len(where))
        ahead, back = np.delete(flat, ends - 1), np.delete(flat, ends - np.asarray(lengths))
        halves = top.chunk(2, dim=1)
        for row, half, places, targets in (
            (self.sums[0], halves[0], ahead, outputs[ahead + 1]),
            (self.sums[1], halves[1], back, outputs[back - 1]),
        ):
            if not len(places):
                continue
            wanted = torch.from_numpy(targets).to(ids.device)
            loss = -self._softmax.log_probability(half[torch.from_numpy(places).to(ids.device)], wanted)
            losses = loss.cpu().double().numpy()  # not every device has float64
            unknown = targets == self._unknown
            row += losses.sum(), len(losses), losses[unknown].sum(), unknown.sum()

    def result(self, world: World, *, tokens: int, unknown: int) -> Perplexity:
        sums = np.array(world.total(self.sums.ravel().tolist())).reshape(2, 4)
        tokens, unknown = (int(number) for number in world.total([tokens, unknown]))
        loss, count, unknown_loss, unknown_count = sums.T
        forward, backward = (_exp(one) for one in loss / count)
        known = [_exp(one) for one in (loss - unknown_loss) / np.maximum(count - unknown_count, 1)]
        return Perplexity(
            forward=forward,
            backward=backward,
            average=(forward + backward) / 2,
            forward_known=known[0],
            backward_known=known[1],
            average_known=(known[0] + known[1]) / 2,
            tokens=tokens,
            unknown_share=unknown / max(1, tokens),
        )


def _exp(number: float) -> float:
    return math.exp(number) if number < 700 else math.inf


def evaluate_heldout(
    bilm: BiLM, store: TextStore, part: TextPart, *, tokens: int, batch_tokens: int, world: World | None = None
) -> Perplexity:
    """Measure about this many tokens, in sentences spread evenly over a part; each process measures its share."""
    world = world or World()
    tally = _Tally(bilm, store.vocabulary.unknown)
    numbers = sorted(evenly(part, tokens), key=lambda number: (part.starts[number] - part.starts[number + 1], number))
    words = unknown = 0
    batches: list[list[int]] = []
    room = 0
    for number in numbers:  # longest first
        size = int(part.starts[number + 1] - part.starts[number])
        if size > room or not batches:
            batches.append([])
            room = batch_tokens
        batches[-1].append(number)
        room -= size
    for some in batches[world.rank :: world.size]:
        types = [part.sentence(number) for number in some]
        flat = np.concatenate(types)
        distinct, where = np.unique(flat, return_inverse=True)
        ids = torch.from_numpy(store.characters[distinct].astype(np.int64)).to(world.device)
        outputs = store.outputs[flat]
        tally.add(ids, where, outputs, [len(one) for one in types])
        # Not two markers per row: a long sentence is in pieces, most of which have fewer.
        inner = (flat != BEGIN) & (flat != END)
        words += int(inner.sum())
        unknown += int((outputs[inner] == store.vocabulary.unknown).sum())
    return tally.result(world, tokens=words, unknown=unknown)


def evaluate(
    model: Model, sentences: Iterable[Sequence[str]], *, device: str = "cpu", batch_tokens: int = 4096
) -> Perplexity:
    """Measure a model on sentences, with the full softmax.

    Args:
        model: A model with a softmax and its vocabulary.
        sentences: Lists of tokens; those longer than `LONGEST` are measured in pieces.
        device: The device to compute on.
        batch_tokens: Number of tokens per batch.

    Example:
        >>> from polyseme.formats.detect import open_model
        >>> evaluate(open_model("english-small"), [["The", "river", "bank", "."]]).forward
        115.78...
    """
    _, vocabulary = model.output_layer(
        consequence="it has no perplexity",
        advice="give the file that contains it, or train one with polyseme train --from",
    )
    bilm = model.to(device).bilm
    begin, end = vocabulary.lookup([BEGIN_SENTENCE, END_SENTENCE])
    tally = _Tally(bilm, vocabulary.unknown)
    tokens = unknown = 0
    for window in windows(_cut(sentences), batch_tokens=batch_tokens, window_tokens=4 * batch_tokens):
        for batch in window.batches:
            chosen = [window.sentences[position] for position in batch]
            ids, where = _numbered(chosen, model.indexer)
            words = [vocabulary.lookup(sentence) for sentence in chosen]
            outputs = np.array([word for some in words for word in (begin, *some, end)])
            lengths = [len(sentence) + 2 for sentence in chosen]
            tally.add(torch.from_numpy(ids).to(device), where, outputs, lengths)
            tokens += sum(lengths) - 2 * len(chosen)
            unknown += sum(some.count(vocabulary.unknown) for some in words)
    if not tokens:
        raise InputError("no tokens to measure; give text with at least one word")
    return tally.result(World(), tokens=tokens, unknown=unknown)


def _numbered(sentences: Sequence[Sequence[str]], indexer: Indexer) -> tuple[Ids, NDArray[np.int64]]:
    """The ids (U, W) of the distinct words of sentences, markers first, and which of them each token (N,) is."""
    places: dict[str, int] = {}
    where: list[int] = []
    for sentence in sentences:
        where += [0, *(places.setdefault(word, len(places) + 2) for word in sentence), 1]
    return np.concatenate([indexer.boundaries, indexer.ids(list(places))]), np.array(where)


def _cut(sentences: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
    for sentence in sentences:
        for start in range(0, max(1, len(sentence)), LONGEST):
            yield sentence if isinstance(sentence, str) else sentence[start : start + LONGEST]
