"""How much has a word changed? Its occurrences in two texts, compared; see `polyseme.study.change_measures`."""

from collections.abc import Collection
from pathlib import Path

from polyseme.embed.layers import LayerChoice
from polyseme.embed.source import VectorSource
from polyseme.progress import Watcher, watching
from polyseme.study.change_measures import Change
from polyseme.study.compared_indexes import ComparedIndexes
from polyseme.study.compared_texts import ComparedTexts
from polyseme.text.corpus import Corpus


def change_of_indexes(old: Path, new: Path, *, words: Collection[str] = (), least: int = 10) -> list[Change]:
    """Compare two indexes, over all occurrences that are in them.

    Args:
        old: The folder of an index.
        new: The folder of another, built with the same model and layers.
        words: Which words; if none is given, all words with a letter that occur often enough in both, the 10,000 most
            frequent at most.
        least: How often is often enough.
    """
    return ComparedIndexes(old, new).changes(words, least=least)


def change_of_texts(
    embedder: VectorSource,
    old: Corpus,
    new: Corpus,
    *,
    words: Collection[str] = (),
    least: int = 10,
    most: int = 1000,
    layers: LayerChoice = "top",
    watcher: Watcher | None = None,
) -> list[Change]:
    """Compare two texts; each is read twice, to count and to embed the sentences that are needed.

    Args:
        embedder: Computes the vectors.
        old: A text.
        new: Another.
        words: Which words; if none is given, all words with a letter that occur often enough in both, the 10,000 most
            frequent at most.
        least: How often is often enough.
        most: Occurrences of a word to embed in each text, spread evenly over it.
        layers: Which vector: ``"top"``, ``"mean"`` or the number of a layer.
        watcher: Is told how the work goes; by default a bar in a notebook.
    """
    with watching(watcher) as told:
        compared = ComparedTexts(embedder, old, new, most=most, layers=layers, watcher=told)
        return compared.changes(words, least=least)
