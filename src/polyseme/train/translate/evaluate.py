"""How well a translator predicts held-out translations, and how close its own come to them (BLEU)."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from polyseme.errors import MissingPart
from polyseme.files.whole import JSON
from polyseme.models.translation import TranslationModel
from polyseme.text.choices import Tokenizer
from polyseme.text.detokenize import detokenize
from polyseme.train.engine.distributed import World
from polyseme.train.translate.batches import PairBatches, read_batch
from polyseme.train.translate.objective import Objective
from polyseme.train.translate.pair_store import Pairs

SAMPLES = 10
"""Translations that are shown at the end."""
BEAM = 4
"""Width of the beam of the final figures."""


@dataclass(frozen=True)
class Bleu:
    """A BLEU score of sacrebleu."""

    score: float
    signature: str
    """How it was computed."""

    def to_dict(self) -> dict[str, JSON]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Sample:
    """A held-out sentence, what it should become, and what it became."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class FinalFigures:
    """What is measured once, at the end, on all held-out pairs, with the best weights."""

    pairs: int
    greedy: Bleu
    beam: Bleu
    width: int
    """Of the beam."""
    samples: list[Sample]


def check_installed() -> None:
    """Raise `MissingPart` if sacrebleu is not installed."""
    try:
        import sacrebleu  # noqa: F401
    except ImportError as error:
        raise MissingPart("BLEU needs sacrebleu; run: pip install 'polyseme[cove]'") from error


def bleu(translations: Sequence[str], references: Sequence[str], tokenizer: Tokenizer | None) -> Bleu:
    """The BLEU of lines of text with one reference each, by sacrebleu: tokenised by its 13a, Chinese by its zh."""
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(tokenize="zh" if tokenizer in ("zh", "char") else "13a")
    score = scorer.corpus_score(list(translations), [list(references)])
    return Bleu(float(score.score), str(scorer.get_signature()))


def translations_of(model: TranslationModel, sources: Sequence[Sequence[str]], *, beam: int = 1) -> list[str]:
    """The translations of tokenised sentences as lines of text."""
    return [detokenize(words, model.target.tokenizer) for words in model.translate(sources, beam=beam)]


@torch.no_grad()
def perplexity(model: TranslationModel, pairs: Pairs, vectors: Tensor, *, batch_tokens: int, world: World) -> float:
    """Exp of the mean negative log-probability of the target words and end markers, by the full softmax."""
    network = model.network.eval()
    objective = Objective(network, vectors)
    batches = list(PairBatches(pairs, batch_tokens=batch_tokens, group=1, seed=0).in_order(np.arange(len(pairs))))
    total, count = 0.0, 0
    for numbers in batches[world.rank :: world.size]:
        batch = read_batch(pairs, numbers, vectors.device)
        states = objective.states(batch, nn.functional.embedding(batch.before, network.softmax.weight))
        total -= float(network.softmax.log_probability(states, batch.target).double().sum())
        count += len(batch.target)
    total, predictions = world.total([total, float(count)])
    return math.exp(min(700.0, total / predictions))


def measure_all(model: TranslationModel, sources: Sequence[Sequence[str]], references: Sequence[str]) -> FinalFigures:
    """BLEU of all pairs, by greedy and by beam search, and some of the translations."""
    greedy, wide = translations_of(model, sources), translations_of(model, sources, beam=BEAM)
    scores = [bleu(lines, references, model.target.tokenizer) for lines in (greedy, wide)]
    shown = spread(len(sources), SAMPLES)
    read = {number: detokenize(sources[number], model.source.tokenizer) for number in shown}
    samples = [Sample(read[number], references[number], wide[number]) for number in shown]
    return FinalFigures(len(sources), scores[0], scores[1], BEAM, samples)


def spread(count: int, most: int) -> list[int]:
    """At most ``most`` of ``count`` numbers, spread evenly."""
    return [int(number) for number in np.unique(np.linspace(0, count - 1, min(count, most)).round())]
