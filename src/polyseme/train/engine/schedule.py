"""How far a run has come, and the learning rate that belongs there."""

import math

from polyseme.train.engine.settings import RunSettings

_LONGEST_WARMUP = 0.05


def share_done(settings: RunSettings, *, epoch: int, epoch_share: float, update: int, elapsed: float) -> float:
    """The share of the run that is done, by whichever limit comes first."""
    shares = [(epoch + epoch_share) / settings.epochs]
    if settings.updates:
        shares.append(update / settings.updates)
    if settings.time_budget:
        shares.append(elapsed / settings.time_budget)
    return min(1.0, max(shares))


def learning_rate(settings: RunSettings, *, update: int, share: float) -> float:
    """The rate of an update: a linear rise over the warm-up, then the decay over the whole run.

    Args:
        settings: The run's.
        update: Updates made before.
        share: Of the run, from 0 to 1.
    """
    rise = min(1.0, max((update + 1) / settings.warmup, share / _LONGEST_WARMUP)) if settings.warmup else 1.0
    match settings.decay:
        case "cosine":
            fall = 0.5 * (1 + math.cos(math.pi * share))
        case "linear":
            fall = 1 - share
        case "late":
            fall = min(1.0, (1 - share) / settings.decay_share)
        case _:
            fall = 1.0
    # The very last updates still move a little: with a rate of 0 they would be wasted.
    return settings.learning_rate * rise * max(fall, 0.01)
