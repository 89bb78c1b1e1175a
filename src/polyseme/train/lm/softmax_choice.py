"""Which softmax a run trains, decided once, and what a new model needs to know of it."""

from polyseme.errors import InputError
from polyseme.models.model import Model
from polyseme.train.choices import SoftmaxKind
from polyseme.train.lm.settings import LmSettings

FULL_UP_TO = 20_000
"""A vocabulary of up to this many words is cheap enough for the full softmax."""


def choose_softmax(settings: LmSettings, words: int, start: Model | None) -> SoftmaxKind:
    """The softmax to train.

    Args:
        settings: The run's.
        words: Words to predict.
        start: A model with a softmax that is trained further, if there is one.

    Raises:
        InputError: The chosen softmax does not fit the vocabulary or the model.
    """
    kind = settings.softmax
    if start is not None:
        adaptive = bool(start.bilm_config.softmax_cutoffs)
        if kind != "auto" and (kind == "adaptive") != adaptive:
            has = "an adaptive" if adaptive else "a full"
            raise InputError(
                f"softmax {kind!r} was asked for, but the model to start from has {has} softmax, which is trained "
                "further; leave out --softmax"
            )
        if adaptive and settings.context_weight:
            raise InputError(
                "context_weight needs a full softmax, but the model to start from has an adaptive one; leave it out"
            )
        if adaptive:
            return "adaptive"
    if kind == "auto":
        return "full" if words <= max(FULL_UP_TO, 2 * settings.samples) else "sampled"
    if kind == "sampled" and 2 * settings.samples > words:
        raise InputError(
            f"samples is {settings.samples:,} but the vocabulary has {words:,} words, of which at most half can be "
            f"drawn; use --samples {max(1, words // 2)} or --softmax full"
        )
    if kind == "adaptive" and settings.cutoffs and settings.cutoffs[-1] >= words:
        raise InputError(
            f"cutoffs {','.join(map(str, settings.cutoffs))} must stay below the vocabulary of {words:,} words; "
            f"use --cutoffs {max(1, words // 10)},{max(2, words // 2)} or --softmax full"
        )
    return kind


def cutoffs_of(kind: SoftmaxKind, settings: LmSettings) -> tuple[int, ...]:
    """Where the clusters of a new softmax of this kind begin; it has none unless it is adaptive."""
    return settings.cutoffs if kind == "adaptive" else ()
