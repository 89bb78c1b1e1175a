"""The corpus as numbers on disk: read once, then shuffled, resumed and shared between processes at will."""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError, OutputError
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE, Indexer
from polyseme.text.corpus import Corpus
from polyseme.text.vocabulary import UNKNOWN, Vocabulary

Counting = Callable[[int, float | None], None]
"""Told of so many more tokens, and the share of the corpus read so far where that is known."""

BEGIN, END = 0, 1
"""The types of the sentence markers."""
_MARKERS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
_CHUNK = 1 << 20
_HELDOUT_SHARE = 0.05


@dataclass(frozen=True)
class TextPart:
    """Sentences as types (distinct words by number), markers included, memory-mapped."""

    types: NDArray[np.int32]
    """(N,) one sentence after the other."""
    starts: NDArray[np.int64]
    """(S + 1,) where each sentence begins, and the end."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(S,) tokens of each sentence with its markers."""
        return np.diff(self.starts)

    def sentence(self, number: int) -> NDArray[np.int32]:
        """The types of one sentence."""
        return self.types[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True)
class TextStore:
    """A corpus counted and split."""

    training: TextPart
    heldout: TextPart
    characters: NDArray[np.int32]
    """(types, width) what the token encoder reads of each type."""
    outputs: NDArray[np.int64]
    """(types,) the output word of each type, <UNK>'s where it has none."""
    vocabulary: Vocabulary
    facts: dict[str, int | float]
    """Sentences, tokens, types and the like, for people."""


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


def _part(folder: Path, name: str) -> TextPart:
    starts = np.fromfile(folder / f"{name}.starts", dtype=np.int64)
    if starts[-1] == 0:
        return TextPart(np.empty(0, dtype=np.int32), starts)
    return TextPart(np.memmap(folder / f"{name}.types", dtype=np.int32, mode="r"), starts)


def _encode(
    corpus: Corpus, writer: _Writer, types: dict[str, int], stop_words: frozenset[str], counting: Counting
) -> None:
    before = len(writer.starts)
    for sentence in corpus.nonempty():
        tokens = [word for word in sentence.tokens if word not in stop_words] if stop_words else sentence.tokens
        if tokens:
            known = [types.setdefault(word, len(types)) for word in tokens]
            writer.add(np.array([BEGIN, *known, END], dtype=np.int32))
            counting(len(tokens), corpus.share_read())
    if len(writer.starts) == before:
        raise InputError(f"{corpus}: only stop words in it; give text with other words, or no stop words")


def read_corpus(
    folder: Path,
    corpus: Corpus,
    heldout: Corpus | None,
    *,
    stop_words: frozenset[str],
    heldout_tokens: int,
    seed: int,
    counting: Counting,
) -> list[str]:
    """Read the corpus once and write its two parts into ``folder``; gives the distinct words by type.

    Without held-out text of its own, sentences are held out by a hash of their number: always the same ones.
    """
    types: dict[str, int] = {BEGIN_SENTENCE: BEGIN, END_SENTENCE: END}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        name = "all" if heldout is None else "training"
        with _Writer(folder, name) as writer:
            _encode(corpus, writer, types, stop_words, counting)
        if heldout is None:
            _split(folder, _part(folder, name), heldout_tokens=heldout_tokens, seed=seed, where=str(corpus))
            (folder / "all.types").unlink()
            (folder / "all.starts").unlink()
        else:
            with _Writer(folder, "heldout") as writer:
                _encode(heldout, writer, types, stop_words, counting)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{folder}: the encoded text could not be written ({error.strerror or error})") from error
    return list(types)


def _split(folder: Path, part: TextPart, *, heldout_tokens: int, seed: int, where: str) -> None:
    sentences = len(part.starts) - 1
    share = min(_HELDOUT_SHARE, heldout_tokens / len(part.types))
    limit = np.uint64(int(share * 2**63) * 2)
    chunks = (np.arange(at, min(at + _CHUNK, sentences), dtype=np.uint64) for at in range(0, sentences, _CHUNK))
    chosen = np.concatenate([_hash(chunk, seed) < limit for chunk in chunks])
    if not chosen.any() and sentences > 1:
        chosen[int(np.argmin(_hash(np.arange(sentences, dtype=np.uint64), seed)))] = True
    if sentences < 2 or chosen.all():
        raise InputError(
            f"{where}: {sentences} sentence{'s' * (sentences != 1)}, so that nothing can be held out; "
            "give more text (a line is a sentence, or use --tokenize), or held-out text with --heldout"
        )
    with _Writer(folder, "training") as training, _Writer(folder, "heldout") as heldout:
        for number in range(sentences):
            (heldout if chosen[number] else training).add(part.sentence(number))


def _hash(numbers: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64: every number to 64 bits that look random (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(seed + 1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return result


def count_words(folder: Path, types: int) -> NDArray[np.int64]:
    """How often each type stands in the training part."""
    part = _part(folder, "training").types
    counts = np.zeros(types, dtype=np.int64)
    for start in range(0, len(part), _CHUNK):
        counts += np.bincount(part[start : start + _CHUNK], minlength=types)
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


def finish(folder: Path, words: Sequence[str], vocabulary: Vocabulary, indexer: Indexer) -> None:
    """Write what each type reads and predicts, and mark the folder as whole."""
    with (folder / "characters").open("wb") as file:
        file.write(indexer.boundaries.astype(np.int32).tobytes())
        for start in range(2, len(words), 1 << 14):
            file.write(indexer.ids(words[start : start + (1 << 14)]).astype(np.int32).tobytes())
    begin, end, outputs = *vocabulary.lookup(_MARKERS[:2]), vocabulary.lookup(words[2:])
    np.array([begin, end, *outputs], dtype=np.int64).tofile(folder / "outputs")
    temporary = folder / "whole.json.partial"
    temporary.write_text(json.dumps({"width": indexer.width, "types": len(words)}), encoding="utf-8")
    temporary.replace(folder / "whole.json")


def is_whole(folder: Path) -> bool:
    """Whether `finish` came to its end here."""
    return (folder / "whole.json").exists()


def open_store(folder: Path, vocabulary: Vocabulary) -> TextStore:
    """Open what `finish` wrote."""
    width = json.loads((folder / "whole.json").read_text(encoding="utf-8"))["width"]
    training, heldout = _part(folder, "training"), _part(folder, "heldout")
    outputs = np.fromfile(folder / "outputs", dtype=np.int64)
    unknown = sum(
        int((outputs[training.types[start : start + _CHUNK]] == vocabulary.unknown).sum())
        for start in range(0, len(training.types), _CHUNK)
    )
    sentences = len(training.starts) - 1
    return TextStore(
        training,
        heldout,
        np.memmap(folder / "characters", dtype=np.int32, mode="r").reshape(-1, width),
        outputs,
        vocabulary,
        {
            "training_sentences": sentences,
            "training_tokens": len(training.types) - 2 * sentences,
            "heldout_sentences": len(heldout.starts) - 1,
            "heldout_tokens": len(heldout.types) - 2 * (len(heldout.starts) - 1),
            "types": len(outputs),
            "vocabulary": len(vocabulary),
            "unknown_share": unknown / max(1, len(training.types) - 2 * sentences),
        },
    )


def pieces(part: TextPart, longest: int) -> TextPart:
    """The same text with sentences of more than ``longest`` tokens cut into pieces."""
    long = np.flatnonzero(part.lengths > longest)
    if not len(long):
        return part
    cuts = (part.starts[long + 1] - part.starts[long] - 1) // longest  # of each long sentence
    which = np.arange(1, int(cuts.sum()) + 1) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    starts = np.append(part.starts, np.repeat(part.starts[long], cuts) + which * longest)
    starts.sort()
    return TextPart(part.types, starts)


def evenly(part: TextPart, tokens: int) -> Iterator[int]:
    """Sentences spread evenly over a part that hold about so many tokens together, or all of them."""
    share = min(1.0, tokens / max(1, len(part.types)))
    count = len(part.starts) - 1
    wanted = max(1, round(count * share))
    return iter(dict.fromkeys(int(number) for number in np.linspace(0, count - 1, wanted).round()))
