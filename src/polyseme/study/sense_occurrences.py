"""Words tagged with senses, and their vectors in all layers of a model."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from polyseme.arrays import HalfVectors, Numbers, Vectors
from polyseme.embed.source import VectorSource
from polyseme.progress import TokenCounter, Watcher
from polyseme.study.sense_data import Lexeme, SenseTag, TaggedSentence, read_senses


@dataclass(frozen=True)
class Occurrences:
    """Tagged words in the order of their text, each with its vectors.

    Attributes:
        tags: N of them; all bear senses.
        sentences: (N,) the number of each one's sentence in the text, from 0.
        vectors: (N, L, D) in 2 bytes per number: a hundred thousand, of 3 layers of 256 numbers, take 150 MB.
    """

    tags: list[SenseTag]
    sentences: Numbers
    vectors: HalfVectors

    def __len__(self) -> int:
        return len(self.tags)

    def by_lexeme(self, rows: Numbers) -> dict[Lexeme, list[int]]:
        """Which of these rows are occurrences of each lexeme."""
        places: dict[Lexeme, list[int]] = {}
        for row in rows.tolist():
            places.setdefault(self.tags[row].lexeme, []).append(row)
        return places


@dataclass(frozen=True)
class TaggedText:
    """Files of tagged sentences, read as one text; see `read_senses`."""

    paths: Sequence[Path]

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))

    def sentences(self) -> Iterator[TaggedSentence]:
        """All sentences, with how much of all files was read."""
        for number, path in enumerate(self.paths):
            for sentence in read_senses(path):
                yield replace(sentence, share=(number + sentence.share) / len(self.paths))

    def occurrences(
        self, embedder: VectorSource, stage: str, watcher: Watcher, *, of: Collection[Lexeme] | None = None
    ) -> Occurrences:
        """Embed the text.

        Args:
            embedder: Computes the vectors. A word of several tokens has the mean of theirs.
            stage: What to call the work.
            watcher: Is told how it goes.
            of: The lexemes whose occurrences are kept, all by default; sentences without any are not embedded.
        """
        counter, tags, numbers, rows = TokenCounter(watcher, f"{stage} {self}"), [], [], []

        def wanted(tag: SenseTag) -> bool:
            return bool(tag.senses) and (of is None or tag.lexeme in of)

        for (number, sentence), layers in _embedded(embedder, self.sentences(), wanted):
            for tag in filter(wanted, sentence.tags):
                tags.append(tag)
                numbers.append(number)
                rows.append(layers[:, tag.start : tag.stop].mean(axis=1).astype(np.float16))
            counter.add(len(sentence.tokens), sentence.share)
        shape = (len(rows), embedder.layers, embedder.dim)
        return Occurrences(tags, np.array(numbers, dtype=np.int64), np.array(rows, dtype=np.float16).reshape(shape))


def _embedded(
    embedder: VectorSource, sentences: Iterator[TaggedSentence], wanted: Callable[[SenseTag], bool]
) -> Iterator[tuple[tuple[int, TaggedSentence], Vectors]]:
    """Sentences with something wanted in them, their numbers, and the vectors (L, T, D) of their tokens."""
    chosen = ((number, one) for number, one in enumerate(sentences) if any(map(wanted, one.tags)))
    return embedder.stream_with(chosen, lambda item: item[1].tokens, layers="all")
