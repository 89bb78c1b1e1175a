"""How well vectors tell senses apart: by the nearest centroid and by nearest neighbours, layer by layer.

The nearest centroid is that of "Deep contextualized word representations" (Peters et al. 2018, section 5.3): the
vectors of all training occurrences of a sense are averaged, and a test occurrence gets the sense of its lexeme whose
average is nearest by cosine. Whatever the method, a lexeme that training never saw gets its first sense.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyseme.arrays import Numbers
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.progress import Watcher, watching
from polyseme.study.sense_classifiers import SensesOfLexeme
from polyseme.study.sense_data import Lexeme, first_senses
from polyseme.study.sense_occurrences import Occurrences, TaggedText
from polyseme.study.sense_scores import METHODS, Column, Right, SenseAccuracy, scores
from polyseme.study.sense_spaces import LayerSpace, MeanSpace, spaces

HELD_OUT = 10
"""To choose a layer, one training sentence out of this many is held out."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """What is compared: every method in every space."""

    spaces: list[LayerSpace | MeanSpace]
    k: int

    @property
    def names(self) -> list[Column]:
        """In the order of the answers."""
        return [Column(space.name, method, space.whitening is not None) for space in self.spaces for method in METHODS]

    def answers(self, known: Occurrences, places: list[int], asked: Occurrences, rows: list[int]) -> list[list[str]]:
        """The sense that each column gives to some occurrences of a lexeme; the most frequent one after them."""
        vectors = known.vectors[places].astype(np.float32)
        lexeme = SensesOfLexeme([known.tags[place].senses for place in places], vectors)
        if len(lexeme.senses) == 1:
            return [lexeme.senses * len(rows)] * (len(self.names) + 1)
        wanted = asked.vectors[rows].astype(np.float32)
        both = (
            (lexeme.by_centroid(wanted, space), lexeme.by_neighbours(wanted, space, self.k)) for space in self.spaces
        )
        return [*(answers for pair in both for answers in pair), lexeme.senses[:1] * len(rows)]


def evaluate_senses(
    embedder: VectorSource,
    train: Sequence[Path],
    test: Sequence[Path],
    *,
    sense_index: Path | None = None,
    k: int = 5,
    whiten: bool = True,
    choose_layer: bool = False,
    watcher: Watcher | None = None,
) -> SenseAccuracy:
    """Learn senses from one tagged text and find them in another.

    Args:
        embedder: Computes the vectors. A word of several tokens has the mean of theirs.
        train: Files of tagged sentences, see `polyseme.study.sense_data.read_senses`. Their vectors are held in memory:
            those of SemCor, of 3 layers of 256 numbers, take 300 MB.
        test: The same.
        sense_index: WordNet's ``index.sense``, for its first senses. Without it a lexeme that is not in the training
            text gets no answer, as a sense key does not tell whether it is the first.
        k: How many nearest neighbours vote.
        whiten: Also compare layers after whitening by the spread within the lexemes of the training text.
        choose_layer: Choose the best layer of each method on every tenth sentence of the training text, after learning
            from the others; the test text has no part in it.
        watcher: Is told how the work goes; by default a bar in a notebook.
    """
    if k < 1:
        raise InputError(f"k is {k}, expected how many nearest neighbours vote, at least 1")
    learnt, tested = TaggedText(train), TaggedText(test)
    lexemes, left_out = _tested(tested)
    first = None if sense_index is None else first_senses(sense_index, lexemes)
    with watching(watcher) as told:
        known = _learn(embedder, learnt, lexemes, told, every=whiten or choose_layer)
        asked = tested.occurrences(embedder, "finding senses in", told)
    held_out = choose(known, k=k, whiten=whiten) if choose_layer else None
    columns = _Columns(spaces(known, np.arange(len(known)), whiten=whiten), k)
    return _accuracy(columns, known, asked, first, held_out, left_out)


def _learn(
    embedder: VectorSource, text: TaggedText, lexemes: Collection[Lexeme], watcher: Watcher, *, every: bool
) -> Occurrences:
    """The occurrences of every lexeme of the training text, or of those alone that are tested."""
    known = text.occurrences(embedder, "learning senses from", watcher, of=None if every else lexemes)
    if not any(tag.lexeme in lexemes for tag in known.tags):
        raise InputError(
            f"{text}: none of the {len(lexemes):,} tested lemmas bears a sense there; give text tagged with the same "
            "lemmas and parts of speech"
        )
    return known


def _accuracy(
    columns: _Columns,
    known: Occurrences,
    asked: Occurrences,
    first: Mapping[Lexeme, str] | None,
    held_out: Mapping[Column, float] | None,
    left_out: int,
) -> SenseAccuracy:
    right = _right(columns, known, np.arange(len(known)), asked, np.arange(len(asked)), first or {})
    trained, tested = Counter(tag.lexeme for tag in known.tags), {tag.lexeme for tag in asked.tags}
    missing = [tag.lexeme for tag in asked.tags if tag.lexeme not in trained]
    return SenseAccuracy(
        scores=scores(columns.names, right[:, :-1] if first is None else right, held_out),
        neighbours=columns.k,
        instances=len(asked),
        backed_off=len(missing) / len(asked),
        unanswered=sum(lexeme not in (first or {}) for lexeme in missing) / len(asked),
        left_out=left_out,
        trained=sum(trained[lexeme] for lexeme in tested),
    )


def choose(known: Occurrences, *, k: int, whiten: bool) -> dict[Column, float]:
    """The accuracy of each column on every tenth sentence, after learning from the others.

    Occurrences of lexemes that the others do not have are left out: no layer finds their sense.
    """
    held = known.sentences % HELD_OUT == HELD_OUT - 1
    rows = np.flatnonzero(~held)
    places = known.by_lexeme(rows)
    asked = np.array([row for row in np.flatnonzero(held) if known.tags[row].lexeme in places], dtype=np.int64)
    if not len(asked):
        raise InputError(
            "the training text has too few sentences to hold out every tenth and find its lemmas in the others; give "
            "more text, or leave the choice of a layer out"
        )
    columns = _Columns(spaces(known, rows, whiten=whiten), k)
    right = _right(columns, known, rows, known, asked, {})
    return dict(zip(columns.names, right[:, :-2].mean(axis=0).tolist(), strict=True))


def _tested(test: TaggedText) -> tuple[set[Lexeme], int]:
    """The lexemes of a tagged text, and how many of its occurrences bear no sense."""
    tags = [tag for sentence in test.sentences() for tag in sentence.tags]
    lexemes = {tag.lexeme for tag in tags if tag.senses}
    if not lexemes:
        raise InputError(f"{test}: no word bears a sense; give tagged text to test on")
    return lexemes, sum(not tag.senses for tag in tags)


def _right(
    columns: _Columns,
    known: Occurrences,
    rows: Numbers,
    asked: Occurrences,
    asked_rows: Numbers,
    listed: Mapping[Lexeme, str],
) -> Right:
    """Which occurrences (N,) each column answers rightly; after the columns, the most frequent and the first sense."""
    width, places = len(columns.names) + 1, known.by_lexeme(rows)
    right = np.zeros((len(asked), width + 1), dtype=np.bool_)
    for lexeme, some in asked.by_lexeme(asked_rows).items():
        first = [listed.get(lexeme, "")] * len(some)
        found = columns.answers(known, places[lexeme], asked, some) if lexeme in places else [first] * width
        for column, answers in enumerate([*found, first]):
            senses = (asked.tags[row].senses for row in some)
            right[some, column] = [answer in wanted for answer, wanted in zip(answers, senses, strict=True)]
    return right[asked_rows]
