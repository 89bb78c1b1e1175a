"""Building an index, and adding to one: a text is embedded in a stream and stored shard by shard."""

import hashlib
from collections import deque
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polyseme.embed.layers import LayerChoice, check_single
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError, Interrupted
from polyseme.files.interrupt import Interruption, interruptible
from polyseme.files.whole import JSON
from polyseme.index.about import About
from polyseme.index.choices import COMPRESSIONS, Compression
from polyseme.index.places import Place
from polyseme.index.store import Run
from polyseme.index.stores import begin_run, check_place, interrupted_run
from polyseme.progress import TokenCounter, Watcher
from polyseme.text.corpus import Corpus


@dataclass(frozen=True)
class Selection:
    """Which occurrences of a text are stored.

    Attributes:
        words: Only those of these words, as they are written here.
        sample: Only this share, always the same ones.
    """

    words: frozenset[str] | None
    sample: float

    @classmethod
    def of(cls, words: Collection[str] | None, sample: float) -> "Selection":
        """A selection as a caller gives it.

        Raises:
            InputError: It is not one.
        """
        if isinstance(words, str):
            raise InputError(f"words is the single word {words!r}, but a list of words is expected: [{words!r}]")
        if not 0 < sample <= 1:
            raise InputError(f"sample is {sample}, expected a share of the occurrences, above 0 and at most 1")
        return cls(None if words is None else frozenset(words), sample)

    def positions(self, tokens: Sequence[str], number: int) -> list[int]:
        """The positions that are stored, in the sentence of this number."""
        return [position for position, token in enumerate(tokens) if self._has(token, number, position)]

    def _has(self, token: str, number: int, position: int) -> bool:
        if self.words is not None and token not in self.words:
            return False
        if self.sample == 1:
            return True
        drawn = hashlib.blake2b(f"{number} {position}".encode(), digest_size=4).digest()
        return int.from_bytes(drawn, "big") < self.sample * 2**32


class _Waiting(NamedTuple):
    """A sentence that is being embedded."""

    number: int
    tokens: list[str]
    positions: list[int]
    share: float | None
    """How much of the text was read with it."""
    place: Place


class Builder:
    """Writes a new index, or adds to one.

    Args:
        embedder: Computes the vectors.
        corpus: The text.
        place: The index: a folder, or the address of a database.
        layers: Which vector of an occurrence.
        compression: How vectors are stored.
        selection: Which occurrences are stored.
        shard_bytes: Memory for vectors before they are stored.
        label: What the user calls the text.
    """

    def __init__(
        self,
        embedder: VectorSource,
        corpus: Corpus,
        place: str | Path,
        *,
        layers: LayerChoice,
        compression: Compression,
        selection: Selection,
        shard_bytes: int,
        label: str | None = None,
    ) -> None:
        if compression not in COMPRESSIONS:
            raise InputError(f"unknown compression {compression!r}; expected {', '.join(COMPRESSIONS)}")
        check_place(place, compression, embedder.dim)
        corpus.follow(embedder.segmentation)
        self._embedder, self._corpus, self._place = embedder, corpus, place
        self._layers = check_single(layers, embedder.layers)
        self._selection, self._shard_bytes, self._label = selection, shard_bytes, label
        path = embedder.path or ""
        self._about = About(
            model=embedder.fingerprint(),
            precision=embedder.precision,
            layers=self._layers,
            compression=compression,
            tokenize=corpus.tokenize,
            dictionary=None if corpus.dictionary is None else [*corpus.dictionary.words],
            model_path=(str(path[0]), str(path[1])) if isinstance(path, tuple) else str(path),
            dim=embedder.dim,
        )

    def run(self, watcher: Watcher, *, resume: bool, append: bool) -> None:
        """Embed and store.

        Args:
            watcher: Is told how it goes.
            resume: Continue an interrupted run. If there is none a new one begins, unless the same was finished before.
            append: Add to the index.

        Raises:
            Interrupted: A signal came; what was done is stored.
        """
        if resume and interrupted_run(self._place):
            self._corpus.check_resumable()
        with begin_run(
            self._place,
            self._about,
            self._settings(),
            resume=resume,
            append=append,
            shard_bytes=self._shard_bytes,
            label=self._label,
        ) as begun:
            if begun.complete:
                what = "this text was added" if append else "this index was built"
                more = "; without --resume it is added again" if append else ""
                watcher.note(f"{begun.name}: {what} already, and nothing was left to do{more}")
                return
            try:
                with interruptible() as interrupted:
                    if not begun.whole:
                        self._embed(begun, watcher, interrupted)
                    begun.finish()
            except BaseException:
                if begun.is_empty:  # nothing to continue from, and nothing that should block another attempt
                    begun.discard()
                raise

    def _settings(self) -> dict[str, JSON]:
        words = self._selection.words
        labelled: dict[str, JSON] = {} if self._label is None else {"label": self._label}
        return {
            **self._about.model_dump(exclude={"model_path", "dim"}),
            "format": self._corpus.reader,
            "words": None if words is None else [*sorted(words)],
            "sample": self._selection.sample,
            "corpus": [[*file] for file in self._corpus.identity()],
            **labelled,
        }

    def _embed(self, run: Run, watcher: Watcher, interrupted: Interruption) -> None:
        """Embed the rest of the text and store it."""
        done, counter = run.sentences, TokenCounter(watcher, f"indexing {self._corpus}")
        waiting = deque[_Waiting]()
        try:
            with closing(self._sentences(done, waiting, counter)) as sentences:
                for rows in interrupted.each(self._embedder.stream(sentences, layers=self._layers)):
                    sentence = waiting.popleft()
                    if sentence.number >= done:
                        chosen = rows[sentence.positions]
                        run.add(sentence.number, sentence.tokens, sentence.positions, chosen, sentence.place)
                    counter.add(len(sentence.tokens), sentence.share)
        except Interrupted as error:
            run.save()
            stored = f"what was done is stored in {run.work}: continue with --resume"
            kept = "nothing was stored yet" if run.is_empty else stored
            raise Interrupted(f"interrupted; {kept}", number=error.number) from None
        if not run.close_text():
            what = "the sample holds no occurrence" if self._selection.words is None else "it has none of the words"
            raise InputError(f"{self._corpus}: {what}; nothing was stored")

    def _sentences(
        self, done: int, waiting: deque[_Waiting], counter: TokenCounter
    ) -> Generator[list[str], None, None]:
        """Yield the tokens of the sentences to embed, after those that are done; the rest of each is kept for later."""
        for number, sentence in enumerate(self._corpus.nonempty()):
            tokens, share = sentence.tokens, self._corpus.share_read()
            positions = self._selection.positions(tokens, number) if number >= done else []
            # A sentence without a chosen occurrence need not be embedded, unless the ones after it carry its state.
            if positions or self._embedder.stateful:
                waiting.append(_Waiting(number, tokens, positions, share, Place.of(sentence, self._label)))
                yield tokens
            elif number >= done:
                counter.add(len(tokens), waiting[0].share if waiting else share)  # those before it are not done yet
