"""Teaches a token encoder to give each word its static vector, before the language model is trained."""

import math
import time

import numpy as np
import torch
from numpy.typing import NDArray

from polyseme.models.token_encoders import TokenEncoder
from polyseme.progress import Watcher
from polyseme.text.characters import Indexer
from polyseme.train.engine.optimizers import Optimizer, clip_norm
from polyseme.train.lm.settings import LmSettings
from polyseme.train.lm.static_start import StaticStart

WORDS = 1024
"""Words of an update."""
BUDGET_SHARE = 0.2
"""Of a time budget that teaching may take."""
_SMOOTHING = 0.95


def teach(
    encoder: TokenEncoder,
    start: StaticStart,
    counts: NDArray[np.int64],
    indexer: Indexer,
    settings: LmSettings,
    watcher: Watcher,
) -> float:
    """Train an encoder on the words of a text that have a static vector.

    Each update draws distinct words, a word with a probability that grows as the root of its count: common words
    matter more, and there are many rare ones.

    Returns:
        The share of the vectors' variance that the encoder explains, over the words of the last updates.
    """
    types = np.flatnonzero((start.rows >= 0) & (counts > 0))
    weight = np.sqrt(counts[types])
    weight /= weight.sum()
    generator = np.random.default_rng([settings.seed, 4])
    encoder.to(settings.device).requires_grad_(True)
    optimizer = Optimizer(encoder, settings)
    limit = math.inf if settings.time_budget is None else BUDGET_SHARE * settings.time_budget
    begun, unexplained = time.monotonic(), 1.0
    watcher.begin("teaching the token encoder")
    for update in range(settings.teaching_updates):
        share = max(update / settings.teaching_updates, (time.monotonic() - begun) / limit)
        if share >= 1:
            break
        drawn = generator.choice(types, min(WORDS, len(types)), replace=False, p=weight)
        ids = torch.from_numpy(indexer.ids([start.words[number] for number in drawn])).to(settings.device)
        wanted = torch.from_numpy(start.targets(start.rows[drawn])).to(settings.device)
        error = _update(encoder, optimizer, ids, wanted, settings, rate=0.5 * (1 + math.cos(math.pi * share)))
        unexplained = error if not update else _SMOOTHING * unexplained + (1 - _SMOOTHING) * error
        watcher.step(share, {"words": (update + 1) * len(drawn), "explained": f"{1 - unexplained:.1%}"})
    encoder.cpu()
    return 1 - unexplained


def _update(
    encoder: TokenEncoder,
    optimizer: Optimizer,
    ids: torch.Tensor,
    wanted: torch.Tensor,
    settings: LmSettings,
    *,
    rate: float,
) -> float:
    """One update; gives the squared error in units of that of zeros, which the targets are centred at."""
    encoder.zero_grad()
    with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
        found = encoder(ids)
    error = (found.float() - wanted).square().sum()
    (error / len(ids)).backward()
    clip_norm(optimizer.dense, None, scale=1.0, limit=settings.clip)
    optimizer.step(settings.learning_rate * rate, None)
    return float(error.detach() / wanted.square().sum())
