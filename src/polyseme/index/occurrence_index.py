"""The index of a text by meaning: which occurrences of words are like this one?"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.embed.inputs import tokens_and_position
from polyseme.embed.layers import LayerChoice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.index import vectors
from polyseme.index.averages import average_directions, too_rare
from polyseme.index.build import Builder, Selection
from polyseme.index.choices import WORDS, Compression, Words
from polyseme.index.manifest import read_manifest
from polyseme.index.occurrence import Occurrence, SimilarWord
from polyseme.index.shard import Shard
from polyseme.index.stored_whitening import open_whitening, search_whitened
from polyseme.index.whitening import Whitening
from polyseme.models.model import ModelPath
from polyseme.progress import Watcher, watching
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.held_sentences import HeldSentences
from polyseme.text.query_word import cut_apart
from polyseme.text.segmentation import Segmentation


class OccurrenceIndex:
    """An index on disk.

    Args:
        path: Its folder.
        embedder: Turns queries into vectors; it must be of the model that the index was built with. Without one, that
            model is loaded at the first query.
        model: Where that model is, as `load` takes it; by default where it was when the index was built.
        verify: Read every file once and compare it with its checksum.

    Raises:
        InputError: There is no index.
        FormatError: A file of the index is missing or damaged.

    Example:
        >>> from polyseme import load
        >>> sentences = [["We", "walked", "along", "the", "bank"], ["The", "bank", "lent", "money"], ["It", "rained"]]
        >>> index = OccurrenceIndex.build(load("english-small"), sentences, "news-index")
        >>> [found.word for found in index.nearest("He sat on the [bank].", k=2)]
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
        self.path, self._model = Path(path), model
        self._manifest = manifest = read_manifest(self.path)
        self._shards = [Shard(self.path / one.name, one, manifest.dim, verify=verify) for one in manifest.shards]
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
        watcher: Watcher | None = None,
    ) -> "OccurrenceIndex":
        """Embed a corpus and store its occurrences.

        Args:
            embedder: What makes the vectors.
            corpus: The text: a `Corpus`, or sentences in memory, each a list of tokens.
            path: A new folder, or with ``append`` an index to add to.
            layers: Which vector: ``"top"``, ``"mean"`` or the number of a layer.
            compression: ``"float16"``, ``"int8"`` (half of that) or ``"pq"`` (an eighth).
            words: Only the occurrences of these words, as they are written here.
            sample: Only this share of the occurrences, always the same ones.
            resume: Continue an interrupted run with the same settings and text; at most a minute of its work is lost.
                If there is none a new run begins, unless the same was finished before.
            append: Add to the index.
            shard_bytes: Memory for vectors before they are stored.
            watcher: Is told how the work goes; by default a bar in a notebook.

        Raises:
            Interrupted: A signal (Ctrl-C, SIGTERM) came; what was done is stored for ``resume``.
        """
        if isinstance(corpus, str | Path):
            raise InputError(f"corpus is the path {str(corpus)!r}, expected Corpus([path], tokenize=...) or sentences")
        builder = Builder(
            embedder,
            corpus if isinstance(corpus, Corpus) else HeldSentences(corpus),
            Path(path),
            layers=layers,
            compression=compression,
            selection=Selection.of(words, sample),
            shard_bytes=shard_bytes,
        )
        with watching(watcher) as told:
            builder.run(told, resume=resume, append=append)
        return cls(path, embedder, verify=False)

    def __repr__(self) -> str:
        manifest = self._manifest
        size = f"{len(self):,} occurrences, {len(self._shards)} shard{'s' * (len(self._shards) > 1)}"
        made = f"layers={manifest.layers!r}, model={manifest.model_path or manifest.model!r}"
        return f"OccurrenceIndex({str(self.path)!r}: {size}, {made})"

    def __len__(self) -> int:
        return sum(shard.count for shard in self._shards)

    @property
    def made_with(self) -> dict[str, str | int]:
        """What the vectors depend on: those of two indexes can be compared if this is the same."""
        manifest = self._manifest
        return {"model": manifest.model, "layers": manifest.layers, "precision": manifest.precision}

    @cached_property
    def segmentation(self) -> Segmentation:
        """How the text was tokenised; queries are tokenised in the same way."""
        words = self._manifest.dictionary
        return Segmentation(self._manifest.tokenize, None if words is None else Dictionary(words))

    @property
    def embedder(self) -> VectorSource:
        """What turns queries into vectors."""
        if self._embedder is None:
            model = self._model or self._manifest.model_path
            if not model:
                raise InputError(f"{self.path}: does not say where its model is; name it with -m, or as model=...")
            self._embedder = self._checked(load(model, precision=self._manifest.precision))
        return self._embedder

    @cached_property
    def whitening(self) -> Whitening:
        """Maps vectors so that the occurrences of a word spread equally in all directions.

        Fitted on the occurrences of the index (at most 200,000) when it is first asked for, and stored with them; anew
        after text was added.
        """
        return open_whitening(self.path, self._manifest, self._shards)

    def nearest(
        self,
        sentence: str | Sequence[str],
        position: int | None = None,
        *,
        k: int = 10,
        words: Words = "any",
        group: bool = False,
        exact: bool = False,
        whiten: bool = False,
    ) -> list[Occurrence]:
        """The occurrences most like a word in a sentence, best first.

        Args:
            sentence: A raw sentence with the word in brackets, which is tokenised as the text was; or its tokens.
            position: Which of the tokens, from 0.
            k: How many.
            words: Of any word, of the same or of others.
            group: Only the best occurrence of each word.
            exact: Compare with every vector, also if they are in clusters.
            whiten: Compare by `whitening`; of each shard the thousand that are nearest without, unless ``exact``.
        """
        if k < 1:
            raise InputError(f"k is {k}, expected how many occurrences to give, at least 1")
        sentence, position = tokens_and_position(sentence, position, self.segmentation)
        if group and words == "same":
            raise InputError("one occurrence of each word, of the same word only, is one; leave out one of the two")
        if words not in WORDS:
            raise InputError(f"words is {words!r}, expected one of {', '.join(WORDS)}")
        query = self.vector(sentence, position)
        chosen = [shard.places(sentence[position]) for shard in self._shards] if words != "any" else None
        wanted = k
        while True:
            found = self._search(query, wanted, chosen, words, exact=exact, whiten=whiten)
            result = list(islice(self._read(found, group=group), k))
            if len(result) == k or len(found) < wanted:
                return result
            wanted *= 4  # several occurrences were of one word

    def vector(self, sentence: Sequence[str], position: int) -> Vectors:
        """The unit vector (D,) of a word in a sentence, made as those of the index were."""
        (rows,) = self.embedder.embed([sentence], layers=self._manifest.layers)
        return vectors.unit(rows[position])

    def occurrences(self, word: str, *, most: int | None = None) -> tuple[list[Occurrence], Vectors]:
        """The occurrences of a word in any letter case, and their unit vectors (n, D).

        Args:
            word: As it is written in the text, or in another letter case.
            most: At most this many, spread evenly over the text.
        """
        places = [shard.places(word) for shard in self._shards]
        total = sum(map(len, places))
        if not total:
            why = cut_apart(word, self.segmentation) or "it is not in the text, or was not chosen"
            raise InputError(f"{self.path}: no occurrence of {word!r}; {why}")
        keep = np.unique(np.linspace(0, total - 1, min(most or total, total)).astype(np.int64))
        result, rows, start = [], [], 0
        for shard, numbers in zip(self._shards, places, strict=True):
            some = numbers[keep[(keep >= start) & (keep < start + len(numbers))] - start]
            start += len(numbers)
            if len(some):
                rows.append(shard.vectors(some))
                result += [_occurrence(shard, int(number), 1.0) for number in some]
        return result, np.concatenate(rows)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word is in the index."""
        total: Counter[str] = Counter()
        for shard in self._shards:
            total.update(shard.counts)
        return total

    def word_sums(self) -> Iterator[tuple[str, int, Vectors]]:
        """Each word of each shard with the number of its occurrences and the sum (D,) of their unit vectors."""
        for shard in self._shards:
            yield from zip(shard.words, shard.counts.values(), shard.sums(), strict=True)

    def similar(self, word: str, *, k: int = 10, least: int = 5) -> list[SimilarWord]:
        """The words whose average vector is most like a word's, over all their occurrences.

        Vectors of contextual models share a large common part; the mean over all words is subtracted first.

        Args:
            word: As it is written in the text.
            k: How many.
            least: Only words with at least this many occurrences.
        """
        if k < 1:
            raise InputError(f"k is {k}, expected how many words to give, at least 1")
        if self.counts[word] < max(1, least):
            raise InputError(f"{self.path}: {word!r} {too_rare(self.counts, word, least, self.segmentation)}")
        words, rows = average_directions(self.counts, self.word_sums(), self._manifest.dim, least)
        place = words[word]
        similarity = rows @ rows[place]
        similarity[place] = -np.inf
        names = list(words)
        best = np.argsort(-similarity, kind="stable")[: min(k, len(names) - 1)]
        return [SimilarWord(names[i], float(similarity[i]), self.counts[names[i]]) for i in best]

    def _search(
        self, query: Vectors, k: int, chosen: list[Numbers] | None, words: Words, *, exact: bool, whiten: bool
    ) -> list[tuple[float, int, int]]:
        search = partial(search_whitened, whitening=self.whitening) if whiten else Shard.search
        parts = []
        for number, shard in enumerate(self._shards):
            named = chosen[number] if chosen is not None else None
            only, but = (named, None) if words == "same" else (None, named)
            parts.append(search(shard, query, k, only=only, but=but, exact=exact))
        return vectors.merge(parts, k)

    def _read(self, found: list[tuple[float, int, int]], *, group: bool) -> Iterator[Occurrence]:
        seen: set[str] = set()
        for similarity, number, occurrence in found:
            shard = self._shards[number]
            if group:  # most may be of words that were found before: their sentences are not read
                word = shard.word(occurrence)
                if word in seen:
                    continue
                seen.add(word)
            yield _occurrence(shard, occurrence, similarity)

    def _checked(self, embedder: VectorSource) -> VectorSource:
        manifest, fingerprint = self._manifest, embedder.fingerprint()
        if fingerprint != manifest.model:
            raise InputError(
                f"{self.path}: was built with model {manifest.model} ({manifest.model_path or 'of unknown place'}), "
                f"this one is {fingerprint}; vectors of two models cannot be compared, query it with the model it was "
                "built with"
            )
        return embedder


def _occurrence(shard: Shard, number: int, similarity: float) -> Occurrence:
    tokens, position = shard.sentence(number)
    return Occurrence(tokens[position], similarity, tokens, position, shard.place(number))
