"""From a corpus to numbers on disk: sentences as types, what each type reads, and what it predicts."""

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError, OutputError
from polyseme.files.whole import flush, reason, write_json
from polyseme.progress import TokenCounter, Watcher
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE, Indexer
from polyseme.text.corpus import Corpus
from polyseme.text.vocabulary import UNKNOWN, Vocabulary
from polyseme.train.lm.scatter import scattered
from polyseme.train.lm.text_store import BEGIN, CHUNK, END, FORMS, WHOLE, TextPart, WholeRecord, chunks, open_part

_MARKERS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
_HELDOUT_SHARE = 0.05
_WORDS_AT_ONCE = 1 << 14


class _Writer:
    """Appends sentences to ``NAME.types`` and remembers where they begin."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._file: BinaryIO = (folder / f"{name}.types").open("wb")
        self.starts = array("q", [0])

    def add(self, types: NDArray[np.int32]) -> None:
        self._file.write(types.tobytes())
        self.starts.append(self.starts[-1] + len(types))

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        np.asarray(self.starts, dtype=np.int64).tofile(self._folder / f"{self._name}.starts")
        del self.starts


def encode_corpus(
    folder: Path,
    corpus: Corpus,
    heldout: Corpus | None,
    *,
    stop_words: frozenset[str],
    heldout_tokens: int,
    seed: int,
    watcher: Watcher,
) -> list[str]:
    """Read the corpus once and write its two parts into ``folder``; return the distinct words by type.

    Without held-out text of its own, sentences are held out by a hash of their number: always the same ones.
    """
    types: dict[str, int] = {BEGIN_SENTENCE: BEGIN, END_SENTENCE: END}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        name = "all" if heldout is None else "training"
        with _Writer(folder, name) as writer:
            _encode(corpus, writer, types, stop_words, watcher)
        if heldout is None:
            _split(folder, open_part(folder, name), heldout_tokens=heldout_tokens, seed=seed, where=str(corpus))
            (folder / "all.types").unlink()
            (folder / "all.starts").unlink()
        else:
            with _Writer(folder, "heldout") as writer:
                _encode(heldout, writer, types, stop_words, watcher)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{folder}: the encoded text could not be written ({reason(error)})") from error
    return list(types)


def _encode(
    corpus: Corpus, writer: _Writer, types: dict[str, int], stop_words: frozenset[str], watcher: Watcher
) -> None:
    before = len(writer.starts)
    counter = TokenCounter(watcher, f"counting {corpus}")
    for sentence in corpus.nonempty():
        tokens = [word for word in sentence.tokens if word not in stop_words] if stop_words else sentence.tokens
        if tokens:
            known = [types.setdefault(word, len(types)) for word in tokens]
            writer.add(np.array([BEGIN, *known, END], dtype=np.int32))
            counter.add(len(tokens), corpus.share_read())
    if len(writer.starts) == before:
        raise InputError(f"{corpus}: only stop words in it; give text with other words, or no stop words")


def _split(folder: Path, part: TextPart, *, heldout_tokens: int, seed: int, where: str) -> None:
    sentences = len(part.starts) - 1
    share = min(_HELDOUT_SHARE, heldout_tokens / len(part.types))
    limit = np.uint64(int(share * 2**63) * 2)
    numbers = (np.arange(at, min(at + CHUNK, sentences), dtype=np.uint64) for at in range(0, sentences, CHUNK))
    chosen = np.concatenate([scattered(some, seed) < limit for some in numbers])
    if not chosen.any() and sentences > 1:
        chosen[int(np.argmin(scattered(np.arange(sentences, dtype=np.uint64), seed)))] = True
    if sentences < 2 or chosen.all():
        raise InputError(
            f"{where}: {sentences} sentence{'s' * (sentences != 1)}, so that nothing can be held out; "
            "give more text (a line is a sentence, or use --tokenize), or held-out text with --heldout"
        )
    with _Writer(folder, "training") as training, _Writer(folder, "heldout") as heldout:
        for number in range(sentences):
            (heldout if chosen[number] else training).add(part.sentence(number))


def count_words(folder: Path, types: int) -> NDArray[np.int64]:
    """How often each type occurs in the training part."""
    counts = np.zeros(types, dtype=np.int64)
    for some in chunks(open_part(folder, "training").types):
        counts += np.bincount(some, minlength=types)
    return counts


def make_vocabulary(words: Sequence[str], counts: NDArray[np.int64], *, size: int, min_count: int) -> Vocabulary:
    """The output words by count, markers first; words of equal count in the order they were met."""
    chosen: list[str] = []
    for index in np.argsort(-counts, kind="stable"):
        if counts[index] < min_count or len(chosen) >= size:
            break
        word = words[index]
        # A line break in a word would break vocabulary.txt; <unk> is how some corpora write the unknown word.
        if word not in (*_MARKERS, UNKNOWN.lower()) and "\n" not in word and "\r" not in word:
            chosen.append(word)
    return Vocabulary((*_MARKERS, *chosen))


def character_set(words: Iterable[str], counts: NDArray[np.int64]) -> dict[str, int]:
    """Characters of the training words, most frequent first, after the markers that a Unicode indexer needs."""
    totals: dict[str, int] = {}
    for word, count in zip(words, counts.tolist(), strict=True):
        if count:
            for character in word:
                totals[character] = totals.get(character, 0) + count
    markers = ["<pad>", "<oov>", "<bos>", "<eos>", "<bow>", "<eow>"]
    found = sorted(totals, key=lambda character: (-totals[character], character))
    return {character: number for number, character in enumerate([*markers, *found])}


def finish(
    folder: Path,
    words: Sequence[str],
    vocabulary: Vocabulary,
    indexer: Indexer,
    forms: NDArray[np.int32] | None = None,
) -> None:
    """Write what each type reads and predicts, and mark the folder as whole.

    Args:
        folder: Where the text is.
        words: By type.
        vocabulary: Words to predict.
        indexer: Turns words into ids.
        forms: The types of each word of the text in other letter cases, if the run needs them.
    """
    try:
        if forms is not None:
            forms.tofile(folder / FORMS)
        with (folder / "characters").open("wb") as file:
            file.write(indexer.boundaries.astype(np.int32).tobytes())
            for start in range(2, len(words), _WORDS_AT_ONCE):
                file.write(indexer.ids(words[start : start + _WORDS_AT_ONCE]).astype(np.int32).tobytes())
        begin, end, outputs = *vocabulary.lookup(_MARKERS[:2]), vocabulary.lookup(words[2:])
        np.array([begin, end, *outputs], dtype=np.int64).tofile(folder / "outputs")
        for path in folder.iterdir():
            flush(path)
        record = WholeRecord(width=indexer.width, types=len(words), forms=forms is not None)
        write_json(folder / WHOLE, record.model_dump())
    except OSError as error:
        raise OutputError(f"{folder}: the encoded text could not be written ({reason(error)})") from error
