"""The index of a text by meaning: which occurrences of words are like this one?"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.embed.inputs import tokens_and_position
from polyseme.embed.layers import LayerChoice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.index.averages import average_directions, too_rare
from polyseme.index.build import Builder, Selection
from polyseme.index.choices import Compression, Words
from polyseme.index.folder_store import FolderStore
from polyseme.index.numbered import Numbered
from polyseme.index.occurrence import Occurrence, SimilarWord
from polyseme.index.store import Choice
from polyseme.index.stores import open_store
from polyseme.index.vectors import unit
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
        self._model, self._store = model, open_store(path, verify=verify)
        self.name, self._about = self._store.name, self._store.about
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
        label: str | None = None,
        shard_bytes: int = 128 << 20,
        watcher: Watcher | None = None,
    ) -> "OccurrenceIndex":
        """Embed a corpus and store its occurrences.

        Args:
            embedder: What makes the vectors.
            corpus: The text: a `Corpus`, or sentences in memory, each a list of tokens.
            path: A new folder, or with ``append`` an index to add to.
            layers: Which vector: ``"top"``, ``"mean"`` or the number of a layer.
            compression: ``"float16"``, ``"int8"`` (half of that) or ``"pq"`` (an eighth in memory, and int8 on disk).
            words: Only the occurrences of these words, as they are written here.
            sample: Only this share of the occurrences, always the same ones.
            resume: Continue an interrupted run with the same settings and text; at most a minute of its work is lost.
                If there is none a new run begins, unless the same was finished before.
            append: Add to the index.
            label: What to call this text, such as its decade or its author; `nearest` can search it alone.
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
            path,
            layers=layers,
            compression=compression,
            selection=Selection.of(words, sample),
            shard_bytes=shard_bytes,
            label=label,
        )
        with watching(watcher) as told:
            builder.run(told, resume=resume, append=append)
        return cls(path, embedder, verify=False)

    def __repr__(self) -> str:
        about = self._about
        made = f"layers={about.layers!r}, model={about.model_path or about.model!r}"
        return f"OccurrenceIndex({self.name!r}: {len(self):,} occurrences, {self._store.parts}, {made})"

    def __len__(self) -> int:
        return len(self._store)

    @property
    def path(self) -> Path:
        """The folder of the index."""
        if not isinstance(self._store, FolderStore):
            raise InputError(f"{self.name}: is in a database and not in a folder; it has a name and no path")
        return self._store.folder

    @property
    def made_with(self) -> dict[str, str | int]:
        """What the vectors depend on: those of two indexes can be compared if this is the same."""
        return {"model": self._about.model, "layers": self._about.layers, "precision": self._about.precision}

    @property
    def model(self) -> str:
        """Where the model is that it was built with; its fingerprint if that is not known, or is two files."""
        return self._about.model_path if isinstance(self._about.model_path, str) else self._about.model

    @cached_property
    def segmentation(self) -> Segmentation:
        """How the text was tokenised; queries are tokenised in the same way."""
        words = self._about.dictionary
        return Segmentation(self._about.tokenize, None if words is None else Dictionary(words))

    @property
    def embedder(self) -> VectorSource:
        """What turns queries into vectors."""
        if self._embedder is None:
            model = self._model or self._about.model_path
            if not model:
                raise InputError(f"{self.name}: does not say where its model is; name it with -m, or as model=...")
            self._embedder = self._checked(load(model, precision=self._about.precision))
        return self._embedder

    @cached_property
    def whitening(self) -> Whitening:
        """Maps vectors so that the occurrences of a word spread equally in all directions.

        Fitted on the occurrences of the index (at most 200,000) when it is first asked for, and stored with them; anew
        after text was added.
        """
        return self._store.whitening()

    def nearest(
        self,
        sentence: str | Sequence[str],
        position: int | None = None,
        *,
        k: int = 10,
        words: Words = "any",
        group: bool = False,
        only: Collection[str] | None = None,
        document: str | None = None,
        label: str | None = None,
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
            only: Of these words, in any letter case.
            document: In this document; or in this file, where its source names no document.
            label: In the text that was indexed with this label.
            exact: Compare with every vector, also if they are in clusters.
            whiten: Compare by `whitening`; of each shard the thousand that are nearest without, unless ``exact``.
        """
        sentence, position = tokens_and_position(sentence, position, self.segmentation)
        if group and words == "same":
            raise InputError("one occurrence of each word, of the same word only, is one; leave out one of the two")
        choice = Choice.of(sentence[position], words, only, document, label)
        return self._nearest_of(sentence, position, choice, k=k, group=group, exact=exact, whiten=whiten)

    def _nearest_of(
        self,
        sentence: Sequence[str],
        position: int,
        choice: Choice,
        *,
        k: int,
        group: bool,
        exact: bool,
        whiten: bool,
    ) -> list[Occurrence]:
        """The occurrences of a choice that are most like a word in a sentence; see `nearest`."""
        if k < 1:
            raise InputError(f"k is {k}, expected how many occurrences to give, at least 1")
        query, wanted, whitening = self.vector(sentence, position), k, self.whitening if whiten else None
        while True:
            near, numbers = self._store.search(query, wanted, choice, exact=exact, whitening=whitening)
            kept = (self._first_of_each_word(numbers) if group else np.arange(len(numbers)))[:k]
            if len(kept) == k or len(numbers) < wanted:
                return self.numbered.read(numbers[kept], near[kept])
            wanted *= 4  # several occurrences were of one word

    def vector(self, sentence: Sequence[str], position: int) -> Vectors:
        """The unit vector (D,) of a word in a sentence, made as those of the index were."""
        (rows,) = self.embedder.embed([sentence], layers=self._about.layers)
        return unit(rows[position])

    def occurrences(self, word: str, *, most: int | None = None) -> tuple[list[Occurrence], Vectors]:
        """The occurrences of a word in any letter case, and their unit vectors (n, D).

        Args:
            word: As it is written in the text, or in another letter case.
            most: At most this many, spread evenly over the text.
        """
        numbers = self.numbered.of(word, most=most)
        if not len(numbers):
            why = cut_apart(word, self.segmentation, "when the text is indexed")
            why = why or "it is not in the text, or was not chosen"
            raise InputError(f"{self.name}: no occurrence of {word!r}; {why}")
        return self.numbered.read(numbers), self.numbered.vectors(numbers)

    @cached_property
    def numbered(self) -> Numbered:
        """The occurrences by number, without a search."""
        return Numbered(self._store)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word is in the index."""
        return self._store.counts()

    def word_sums(self) -> Iterator[tuple[str, int, Vectors]]:
        """Words with a number of occurrences and the sum (D,) of their unit vectors; a word may come several times."""
        return self._store.word_sums()

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
            raise InputError(f"{self.name}: {word!r} {too_rare(self.counts, word, least, self.segmentation)}")
        words, rows = average_directions(self.counts, self.word_sums(), self._about.dim, least)
        place = words[word]
        similarity = rows @ rows[place]
        similarity[place] = -np.inf
        names = list(words)
        best = np.argsort(-similarity, kind="stable")[: min(k, len(names) - 1)]
        return [SimilarWord(names[i], float(similarity[i]), self.counts[names[i]]) for i in best]

    def _first_of_each_word(self, numbers: Numbers) -> Numbers:
        """Which of some occurrences, by their place among them, are the first of their word."""
        first: dict[str, int] = {}
        for place, word in enumerate(self._store.words(numbers)):
            first.setdefault(word, place)
        return np.array(list(first.values()), dtype=np.int64)

    def _checked(self, embedder: VectorSource) -> VectorSource:
        about, fingerprint = self._about, embedder.fingerprint()
        if fingerprint != about.model:
            raise InputError(
                f"{self.name}: was built with model {about.model} ({about.model_path or 'of unknown place'}), "
                f"this one is {fingerprint}; vectors of two models cannot be compared, query it with the model it was "
                "built with"
            )
        return embedder
