"""Building an index, and adding to one: a text is embedded in a stream and stored shard by shard."""

import hashlib
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polyseme.embed.layers import LayerChoice, check_single
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError, Interrupted
from polyseme.files.interrupt import Interruption, interruptible
from polyseme.files.whole import JSON
from polyseme.files.work_folder import work_path
from polyseme.index.choices import COMPRESSIONS, Compression
from polyseme.index.manifest import FinishedRun, Manifest, ShardRecord
from polyseme.index.places import Place
from polyseme.index.shard_writer import ShardWriter
from polyseme.index.transaction import Transaction
from polyseme.index.vectors import faiss
from polyseme.progress import TokenCounter, Watcher
from polyseme.text.corpus import Corpus

SECONDS = 60.0
"""Seconds after which the unfinished shard is stored, so that a run that is killed does not lose more work."""


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
    """Writes an index into a new folder, or adds to one.

    Args:
        embedder: Computes the vectors.
        corpus: The text.
        folder: The index.
        layers: Which vector of an occurrence.
        compression: How vectors are stored.
        selection: Which occurrences are stored.
        shard_bytes: Memory for vectors before they are stored.
    """

    def __init__(
        self,
        embedder: VectorSource,
        corpus: Corpus,
        folder: Path,
        *,
        layers: LayerChoice,
        compression: Compression,
        selection: Selection,
        shard_bytes: int,
    ) -> None:
        faiss()  # or say now that it is missing
        if compression not in COMPRESSIONS:
            raise InputError(f"unknown compression {compression!r}; expected {', '.join(COMPRESSIONS)}")
        if not folder.absolute().name:
            raise InputError(f"{folder}: exists already; give the name of a new folder")
        if str(folder).encode("utf-8", "ignore").decode() != str(folder):
            raise InputError(f"{folder}: the path is not UTF-8, and faiss cannot open it; give another")
        corpus.follow(embedder.segmentation)
        self._embedder, self._corpus, self._folder = embedder, corpus, folder
        self._layers = check_single(layers, embedder.layers)
        self._compression, self._selection, self._shard_bytes = compression, selection, shard_bytes
        self._made_with: dict[str, JSON] = {
            "model": embedder.fingerprint(),
            "precision": embedder.precision,
            "layers": self._layers,
            "compression": compression,
            "tokenize": corpus.tokenize,
            "dictionary": None if corpus.dictionary is None else [*corpus.dictionary.words],
        }

    def run(self, watcher: Watcher, *, resume: bool, append: bool) -> None:
        """Embed and store.

        Args:
            watcher: Is told how it goes.
            resume: Continue an interrupted run. If there is none a new one begins, unless the same was finished before.
            append: Add to the index.

        Raises:
            Interrupted: A signal came; what was done is stored.
        """
        if resume and work_path(self._folder).exists():
            self._corpus.check_resumable()
        with Transaction(
            self._folder, self._settings(), resume=resume, append=append, check=self._check
        ) as transaction:
            if transaction.complete:
                what = "this text was added" if append else "this index was built"
                more = "; without --resume it is added again" if append else ""
                watcher.note(f"{self._folder}: {what} already, and nothing was left to do{more}")
                return
            try:
                with interruptible() as interrupted:
                    if not transaction.stored.whole:
                        self._embed(transaction, watcher, interrupted)
                    transaction.finish(self._manifest)
            except BaseException:
                if transaction.is_empty:  # nothing to continue from, and nothing that should block another attempt
                    transaction.discard()
                raise

    def _settings(self) -> dict[str, JSON]:
        words = self._selection.words
        return {
            **self._made_with,
            "format": self._corpus.reader,
            "words": None if words is None else [*sorted(words)],
            "sample": self._selection.sample,
            "corpus": [[*file] for file in self._corpus.identity()],
            "shard_bytes": self._shard_bytes,
        }

    def _check(self, old: Manifest) -> None:
        """Refuse to add to an index that was made otherwise."""
        stored = old.model_dump()
        for name, value in self._made_with.items():
            if (before := stored[name]) != value:
                what = f"{name} {before!r}, not {value!r}" if name != "dictionary" else f"another {name}"
                raise InputError(
                    f"{self._folder}: was built with {what}; add to it with the same, or build another index"
                )

    def _manifest(self, shards: list[ShardRecord], runs: list[FinishedRun]) -> Manifest:
        path = self._embedder.path or ""
        return Manifest.model_validate(
            {
                **self._made_with,
                "model_path": tuple(map(str, path)) if isinstance(path, tuple) else str(path),
                "dim": self._embedder.dim,
                "shards": shards,
                "runs": runs,
            }
        )

    def _embed(self, transaction: Transaction, watcher: Watcher, interrupted: Interruption) -> None:
        """Embed the rest of the text and store it in shards."""
        writer, done, saved = transaction.pending(self._embedder.dim), transaction.stored.sentences, time.monotonic()
        counter, waiting = TokenCounter(watcher, f"indexing {self._corpus}"), deque[_Waiting]()
        stream = self._embedder.stream(self._sentences(done, waiting, counter), layers=self._layers)
        try:
            for rows in interrupted.each(stream):
                sentence = waiting.popleft()
                if sentence.number >= done:
                    writer.add(sentence.tokens, sentence.positions, rows[sentence.positions], sentence.place)
                    done = sentence.number + 1
                if writer.vector_bytes >= self._shard_bytes:
                    transaction.store(writer, self._compression, sentences=done)
                    writer, saved = ShardWriter(self._embedder.dim), time.monotonic()
                elif time.monotonic() - saved >= SECONDS:
                    transaction.store_pending(writer, sentences=done)
                    saved = time.monotonic()
                counter.add(len(sentence.tokens), sentence.share)
        except Interrupted as error:
            transaction.store_pending(writer, sentences=done)
            stored = f"what was done is stored in {transaction.path}: continue with --resume"
            kept = "nothing was stored yet" if transaction.is_empty else stored
            raise Interrupted(f"interrupted; {kept}", number=error.number) from None
        if len(writer):
            transaction.store(writer, self._compression, sentences=done)
        if not transaction.stored.shards:
            what = "the sample holds no occurrence" if self._selection.words is None else "it has none of the words"
            raise InputError(f"{self._corpus}: {what}; nothing was stored")

    def _sentences(self, done: int, waiting: deque[_Waiting], counter: TokenCounter) -> Iterator[list[str]]:
        """Yield the tokens of the sentences to embed, after those that are done; the rest of each is kept for later."""
        for number, sentence in enumerate(self._corpus.nonempty()):
            tokens, share = sentence.tokens, self._corpus.share_read()
            positions = self._selection.positions(tokens, number) if number >= done else []
            # A sentence without a chosen occurrence need not be embedded, unless the ones after it carry its state.
            if positions or self._embedder.stateful:
                waiting.append(_Waiting(number, tokens, positions, share, Place.of(sentence)))
                yield tokens
            elif number >= done:
                counter.add(len(tokens), waiting[0].share if waiting else share)  # those before it are not done yet
