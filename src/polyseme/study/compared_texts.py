"""Two texts that are embedded for a study of change, as far as it needs them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice, check_single
from polyseme.embed.source import VectorSource
from polyseme.index.occurrence import Occurrence
from polyseme.index.places import Place
from polyseme.index.vectors import unit
from polyseme.progress import TokenCounter, Watcher
from polyseme.study.change_measures import Change, Usage, compare
from polyseme.study.compared import Compared, Occurrences
from polyseme.text.corpus import Corpus, Sentence


@dataclass(slots=True)
class _Kept:
    """The occurrences of one word in one text."""

    occurrences: list[Occurrence] = field(default_factory=list)
    rows: list[Vectors] = field(default_factory=list)


class ComparedTexts(Compared):
    """Two texts. They are read once to count their words, and again to embed the sentences that are needed.

    Args:
        embedder: Computes the vectors.
        old: A text.
        new: Another.
        most: Occurrences of a word to embed in each text, spread evenly over it.
        layers: Which vector: ``"top"``, ``"mean"`` or the number of a layer.
        watcher: Is told how the work goes.
    """

    def __init__(
        self, embedder: VectorSource, old: Corpus, new: Corpus, *, most: int, layers: LayerChoice, watcher: Watcher
    ) -> None:
        check_single(layers, embedder.layers)
        for corpus in (old, new):
            corpus.follow(embedder.segmentation)
        self._embedder, self._texts, self._watcher = embedder, (old, new), watcher
        self._most, self._layers = most, layers
        self._kept: tuple[dict[str, _Kept], dict[str, _Kept]] = ({}, {})
        self.model, self.segmentation = embedder.name, old.segmentation
        self.counts = _count(old, watcher), _count(new, watcher)

    def changes(self, words: Collection[str] = (), *, least: int = 10, keep: Collection[str] = ()) -> list[Change]:
        """How much words have changed; see `Compared`."""
        return compare(*self._read("embedding", self.choose(words, least), keep))

    def occurrences(self, words: Collection[str], *, most: int) -> dict[str, tuple[Occurrences, Occurrences]]:
        """The occurrences of words in both texts; see `Compared`. Those that were not kept are embedded again."""
        if missing := [word for word in words if word not in self._kept[0]]:
            self._read("embedding the most changed words of", set(missing), missing)
        return {word: (self._some(0, word, most), self._some(1, word, most)) for word in words}

    def _some(self, text: int, word: str, most: int) -> Occurrences:
        kept = self._kept[text][word]
        numbers = np.unique(np.linspace(0, len(kept.rows) - 1, min(most, len(kept.rows))).astype(np.int64)).tolist()
        return [kept.occurrences[number] for number in numbers], np.stack([kept.rows[number] for number in numbers])

    def _read(self, stage: str, chosen: Collection[str], keep: Collection[str]) -> tuple[Usage, Usage]:
        """Embed the occurrences of the chosen words in both texts, and keep those of some of them."""
        names = {word.casefold() for word in keep} & set(chosen)
        for kept in self._kept:
            kept.update({word: _Kept() for word in names})
        return self._usage(0, stage, chosen, names), self._usage(1, stage, chosen, names)

    def _usage(self, text: int, stage: str, chosen: Collection[str], keep: Collection[str]) -> Usage:
        corpus, kept = self._texts[text], self._kept[text]
        totals = {word: self.counts[text][word] for word in chosen}
        usage, counter = Usage(), TokenCounter(self._watcher, f"{stage} {corpus}")
        sentences = ((*needed, corpus.share_read()) for needed in _needed(corpus, totals, self._most))
        found = self._embedder.stream_with(sentences, lambda one: one[0].tokens, layers=self._layers)
        for (sentence, positions, share), rows in found:
            for position, row in zip(positions, unit(rows[positions]), strict=True):
                word = sentence.tokens[position]
                usage.add(word, row)
                if word.casefold() in keep:
                    place = Place.of(sentence)
                    kept[word.casefold()].occurrences.append(Occurrence(word, 1.0, sentence.tokens, position, place))
                    kept[word.casefold()].rows.append(row)
            counter.add(len(sentence.tokens), share)
        return usage


def _count(corpus: Corpus, watcher: Watcher) -> Counter[str]:
    """How often each word, in lower case, occurs in a text."""
    counter, counts = TokenCounter(watcher, f"counting the words of {corpus}"), Counter[str]()
    for sentence in corpus.nonempty():
        counts.update(token.casefold() for token in sentence.tokens)
        counter.add(len(sentence.tokens), corpus.share_read())
    return counts


def _needed(corpus: Corpus, totals: Mapping[str, int], most: int) -> Iterator[tuple[Sentence, list[int]]]:
    """Sentences and the positions of the occurrences to embed: a limited number per word, spread evenly."""
    seen: defaultdict[str, int] = defaultdict(int)
    for sentence in corpus:
        positions = []
        for position, token in enumerate(sentence.tokens):
            word = token.casefold()
            if total := totals.get(word):
                share = min(most, total)
                # Exactly `share` of the numbers 0 .. total - 1 pass, at even distances.
                if seen[word] * share // total != (seen[word] + 1) * share // total:
                    positions.append(position)
                seen[word] += 1
        if positions:
            yield sentence, positions
