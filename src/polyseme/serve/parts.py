"""The model, the index and the task that are served, opened once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Protocol

from polyseme.embed.embedder import Embedder
from polyseme.embed.layers import LayerChoice, check_choice, parse_choice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError, MissingPart
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.nn.choices import PRECISIONS, Precision
from polyseme.serve.explorer import Explorer
from polyseme.serve.settings import Settings
from polyseme.study.output_words import output_words
from polyseme.tasks.examples import Example
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation, resolve


class Predictor(Protocol):
    """What the server asks of a trained task."""

    name: str

    def predict(self, given: str | Path | Iterable[Sequence[str]]) -> list[Example]:
        """An example with its answer for each sentence."""


@dataclass(frozen=True)
class Parts:
    """All that is served.

    Attributes:
        name: What clients call the model.
        fingerprint: Which model it is.
        source: Makes the vectors that clients ask for; only one thread uses it.
        layers: Which layers, if a request does not say.
        segmentation: How texts are tokenised.
        note: One line about the latter, for the one who runs the server.
        model: The same model for scores and substitutes, in another thread; None if it is not a language model.
        index: Is searched, if there is one.
        task: Is asked, if there is one.
        explorer: Is shown in a browser, if there is one.
    """

    name: str
    fingerprint: str
    source: VectorSource
    layers: LayerChoice
    segmentation: Segmentation
    note: str | None
    model: Embedder | None
    index: OccurrenceIndex | None
    task: Predictor | None
    explorer: Explorer | None = None

    @cached_property
    def words(self) -> StaticVectors:
        """The word vectors of the model itself: its table, or the rows of its softmax."""
        if isinstance(self.source, StaticVectors):
            return self.source
        if self.model is None:
            raise MissingPart(f"{self.name} has no list of words; start the server with --index INDEX")
        return StaticVectors(output_words(self.model.model))


def open_parts(settings: Settings) -> Parts:
    """Open everything.

    Raises:
        PolysemeError: Something is missing or damaged, or does not belong together.
    """
    if settings.threads is not None:
        import_module("torch").set_num_threads(settings.threads)
    source = load(
        settings.model,
        precision=settings.precision,
        device=settings.device,
        softmax=settings.softmax,
        vocabulary=settings.vocabulary,
        batch_tokens=settings.limits.batch_tokens,
    )
    layers = parse_choice(settings.layers)
    check_choice(layers, source.layers)
    words = None if settings.dictionary is None else Dictionary.read(settings.dictionary)
    segmentation, note = resolve(settings.tokenize, words, source.segmentation, lambda: "")
    model = _beside(source, source.precision)
    source.embed([["a"]])  # the first sentence is the slowest: kernels may have to be compiled
    return Parts(
        name=settings.name or source.name,
        fingerprint=source.fingerprint(),
        source=source,
        layers=layers,
        segmentation=segmentation,
        note=note,
        model=model,
        index=None if settings.index is None else _index(settings.index, source, model),
        task=None if settings.task is None else _task(settings.task),
    )


def _beside(source: VectorSource, precision: Precision) -> Embedder | None:
    """The same weights for another thread, with a cache of its own."""
    return Embedder(source.model, precision=precision, cache_mib=64) if isinstance(source, Embedder) else None


def _index(path: str | Path, source: VectorSource, model: Embedder | None) -> OccurrenceIndex:
    """The index, asked with the precision that it was built with."""
    index = OccurrenceIndex(path)
    built = index.made_with
    if built["model"] != source.fingerprint():
        raise InputError(
            f"{index.name}: was built with model {built['model']}, but {source.name} is {source.fingerprint()}; serve "
            "the model that the index was built with"
        )
    precision = next((known for known in PRECISIONS if known == built["precision"]), source.precision)
    if model is not None:
        asked: VectorSource | None = model if precision == model.precision else _beside(source, precision)
    else:  # a combination is opened again, as its parts belong to one thread
        asked = source if isinstance(source, StaticVectors) else None
    return OccurrenceIndex(path, asked, model=source.path, verify=False)


def _task(path: Path) -> Predictor:
    task: Predictor = import_module("polyseme.tasks.task").Task.load(path)
    return task
