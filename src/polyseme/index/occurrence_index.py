"""Every occurrence of a corpus as a vector: which places mean what this one means?"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyseme.embed.inputs import tokens_and_position
from polyseme.embed.layers import LayerChoice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.index import Advance, vectors
from polyseme.index.build import Builder, read_manifest
from polyseme.index.choices import WORDS, Compression, Words
from polyseme.index.shard import Shard
from polyseme.index.vectors import Vectors
from polyseme.models.model import ModelPath
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation


class Occurrence(NamedTuple):
    """A word in its sentence."""

    word: str
    similarity: float
    sentence: list[str]
    position: int


class SimilarWord(NamedTuple):
    """A word whose contexts are like those of another."""

    word: str
    similarity: float
    occurrences: int


class OccurrenceIndex:
    """An index on disk.

    Args:
        path: Its folder.
        embedder: Turns queries into vectors; must be of the model that the index was built with. Without one that
            model is loaded at the first query.
        model: Where it is now, as `load` takes it; by default where it was when the index was built.
        verify: Read every file once and compare it with its checksum.

    Example:
        >>> from polyseme import load
        >>> sentences = [["We", "walked", "along", "the", "bank"], ["The", "bank", "lent", "money"], ["It", "rained"]]
        >>> index = OccurrenceIndex.build(load("english-small"), sentences, "news-index")
        >>> [found.word for found in index.nearest(["He", "sat", "on", "the", "bank"], 4, k=2)]
        ['bank', 'bank']
    """

    def __init__(
        self,
        path: str | Path,
        embedder: VectorSource | None = None,
        *,
        model: ModelPath | None = None,
        verify: bool = True,
    ) -> None:
        self.path = Path(path)
        self._model = model
        self._manifest = read_manifest(self.path)
        self._shards = [Shard(self.path / facts["name"], facts, verify=verify) for facts in self._manifest["shards"]]
        if embedder is not None and not isinstance(embedder, VectorSource):
            raise InputError(f"embedder is {embedder!r:.60}, expected what polyseme.load gives; a path goes to model=")
        self._embedder = None if embedder is None else self._checked(embedder)

    @classmethod
    def build(
        cls,
        embedder: VectorSource,
        corpus: Corpus | Iterable[Sequence[str]],
        path: str | Path,
        *,
        layers: LayerChoice = "top",
        compression: Compression = "float16",
        words: Collection[str] | None = None,
        sample: float = 1.0,
        resume: bool = False,
        append: bool = False,
        shard_bytes: int = 128 << 20,
        advance: Advance | None = None,
    ) -> "OccurrenceIndex":
        """Embed a corpus and store its occurrences.

        Args:
            embedder: What makes the vectors.
            corpus: The text: a `Corpus`, or sentences in memory, each a list of tokens.
            path: A new folder, or with ``append`` an index to add to.
            layers: Which vector: ``"top"``, ``"mean"`` or a layer's number.
            compression: ``"float16"``, ``"int8"`` (half of that) or ``"pq"`` (an eighth).
            words: Only the occurrences of these, as they are written here.
            sample: Only this share of the occurrences, always the same ones.
            resume: Go on where an interrupted build of the same text stopped.
            append: Add to the index.
            shard_bytes: Memory for vectors before they are stored.
            advance: Told of tokens done and of the share of the corpus read.
        """
        builder = Builder(
            embedder,
            corpus,
            Path(path),
            layers=layers,
            compression=compression,
            words=words,
            sample=sample,
            shard_bytes=shard_bytes,
            resume=resume,
            append=append,
        )
        builder.run(advance)
        return cls(path, embedder, verify=False)

    def __len__(self) -> int:
        return sum(shard.count for shard in self._shards)

    @property
    def made_with(self) -> dict[str, str | int]:
        """What vectors depend on: those of two indexes can be compared where this is the same."""
        return {name: self._manifest[name] for name in ("model", "layers", "precision")}

    @cached_property
    def segmentation(self) -> Segmentation:
        """How the corpus was cut into tokens; queries are cut in the same way."""
        words: list[str] | None = self._manifest.get("dictionary")
        return Segmentation(self._manifest["tokenize"], None if words is None else Dictionary(words))

    @property
    def embedder(self) -> VectorSource:
        """What turns queries into vectors."""
        if self._embedder is None:
            stored = self._manifest["model_path"]
            model = self._model or (tuple(stored) if isinstance(stored, list) else stored)
            if not model:
                raise InputError(f"{self.path}: does not say where its model is; give that with -m, or as model=...")
            self._embedder = self._checked(load(model, precision=self._manifest["precision"]))
        return self._embedder

    def nearest(
        self,
        sentence: str | Sequence[str],
        position: int | None = None,
        *,
        k: int = 10,
        words: Words = "any",
        group: bool = False,
        exact: bool = False,
    ) -> list[Occurrence]:
        """The occurrences most like a word in a sentence, best first.

        Args:
            sentence: A raw sentence with the word in brackets, which is cut as the corpus was; or its tokens.
            position: Which of the tokens, from 0.
            k: How many.
            words: Of any word, of the same or of others.
            group: Only the best occurrence of each word.
            exact: Compare with every vector, also where they are clustered.
        """
        if k < 1:
            raise InputError(f"k is {k}, expected how many occurrences to give, at least 1")
        sentence, position = tokens_and_position(sentence, position, self.segmentation)
        if group and words == "same":
            raise InputError("one occurrence of each word, of the same word alone, is one; leave out one of the two")
        if words not in WORDS:
            raise InputError(f"words is {words!r}, expected one of {', '.join(WORDS)}")
        query = self.vector(sentence, position)
        chosen = [shard.places(sentence[position]) for shard in self._shards] if words != "any" else None
        wanted = k
        while True:
            found = self._search(query, wanted, chosen, words, exact=exact)
            result = list(islice(self._read(found, group=group), k))
            if len(result) == k or len(found) < wanted:
                return result
            wanted *= 4  # several occurrences were of one word

    def vector(self, sentence: Sequence[str], position: int) -> Vectors:
        """The unit vector (D,) of a word in a sentence, made as those of the index were."""
        (rows,) = self.embedder.embed([sentence], layers=self._manifest["layers"])
        return vectors.unit(rows[position])

    def occurrences(self, word: str, *, most: int | None = None) -> tuple[list[Occurrence], Vectors]:
        """The occurrences of a word in any letter case, or some spread evenly over them, and their unit vectors."""
        places = [shard.places(word) for shard in self._shards]
        total = sum(map(len, places))
        if not total:
            raise InputError(f"{self.path}: no occurrence of {word!r}; it is not in the text, or was not chosen")
        keep = np.unique(np.linspace(0, total - 1, min(most or total, total)).astype(np.int64))
        result, rows, start = [], [], 0
        for shard, numbers in zip(self._shards, places, strict=True):
            some = numbers[keep[(keep >= start) & (keep < start + len(numbers))] - start]
            start += len(numbers)
            if len(some):
                rows.append(shard.vectors(some))
                result += [self._occurrence(shard, int(number), 1.0) for number in some]
        return result, np.concatenate(rows)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word is in the index."""
        total: Counter[str] = Counter()
        for shard in self._shards:
            total.update(shard.counts)
        return total

    def word_sums(self) -> Iterator[tuple[str, int, Vectors]]:
        """Words with their occurrences in a shard and the sum (D,) of the unit vectors of those."""
        for shard in self._shards:
            yield from zip(shard.words, shard.counts.values(), shard.sums(), strict=True)

    def similar(self, word: str, *, k: int = 10, least: int = 5) -> list[SimilarWord]:
        """The words whose average vector is most like a word's, over all their occurrences.

        Vectors of contextual models share a large common part; the mean over all words is taken off first.

        Args:
            word: As it is written in the text.
            k: How many.
            least: Only words with so many occurrences.
        """
        if k < 1:
            raise InputError(f"k is {k}, expected how many words to give, at least 1")
        count = self.counts[word]
        if count < max(1, least):
            raise InputError(f"{self.path}: {word!r} {self._too_rare(word, least)}")
        words, rows = self._averages(least)
        place = words[word]
        similarity = rows @ rows[place]
        similarity[place] = -np.inf
        names = list(words)
        best = np.argsort(-similarity, kind="stable")[: min(k, len(names) - 1)]
        return [SimilarWord(names[i], float(similarity[i]), self.counts[names[i]]) for i in best]

    def _too_rare(self, word: str, least: int) -> str:
        if self.counts[word]:
            return (
                f"stands only {self.counts[word]} times in it, fewer than {least}; give another word, or a lower limit"
            )
        others = [other for other in self.counts if other.casefold() == word.casefold()]
        return f"is not in it; {f'try {max(others, key=self.counts.__getitem__)!r}' if others else 'give another word'}"

    def _averages(self, least: int) -> tuple[dict[str, int], Vectors]:
        """Words with enough occurrences, and the direction (W, D) of each one's average from that of all."""
        words = {word: 0 for word, count in self.counts.items() if count >= least}
        words = {word: number for number, word in enumerate(words)}
        rows = np.zeros((len(words), self._manifest["dim"]), dtype=np.float32)
        for word, _, total in self.word_sums():
            if word in words:
                rows[words[word]] += total
        rows /= np.array([self.counts[word] for word in words], dtype=np.float32)[:, None]
        return words, vectors.unit(rows - rows.mean(axis=0))

    def _search(
        self, query: Vectors, k: int, chosen: list[NDArray[np.int64]] | None, words: Words, *, exact: bool
    ) -> list[tuple[float, int, int]]:
        parts = []
        for number, shard in enumerate(self._shards):
            named = chosen[number] if chosen is not None else None
            only, but = (named, None) if words == "same" else (None, named)
            parts.append(vectors.search(shard.index, query, k, only=only, but=but, exact=exact))
        return vectors.merge(parts, k)

    def _read(self, found: list[tuple[float, int, int]], *, group: bool) -> Iterator[Occurrence]:
        seen: set[str] = set()
        for similarity, number, occurrence in found:
            shard = self._shards[number]
            if group:  # most may be of words that are there already: their sentences are not read
                word = shard.word(occurrence)
                if word in seen:
                    continue
                seen.add(word)
            yield self._occurrence(shard, occurrence, similarity)

    def _occurrence(self, shard: Shard, number: int, similarity: float) -> Occurrence:
        tokens, position = shard.sentence(number)
        return Occurrence(tokens[position], similarity, tokens, position)

    def _checked(self, embedder: VectorSource) -> VectorSource:
        fingerprint = embedder.fingerprint()
        if fingerprint != self._manifest["model"]:
            raise InputError(
                f"{self.path}: was built with model {self._manifest['model']} "
                f"({self._manifest['model_path'] or 'of unknown place'}), this one is {fingerprint}; vectors of "
                "two models cannot be compared, query it with the model it was built with"
            )
        return embedder
