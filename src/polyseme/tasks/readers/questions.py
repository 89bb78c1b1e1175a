"""Reads questions about passages: the JSON of SQuAD 1.1, and answers that are found in any passage."""

from collections.abc import Iterator, Mapping, Sequence

from polyseme.errors import InputError
from polyseme.tasks.examples import Answer, Question
from polyseme.tasks.readers.json_values import is_number, json_object
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import EMPTY_TEXT, INSIDE_TOKEN, LOST_ANSWER, MOVED_ANSWER, NO_ANSWER

Offsets = tuple[tuple[int, int], ...]


def read_squad(reading: Reading) -> Iterator[Question]:
    """Read every question of every paragraph of every article."""
    name = reading.lines.name
    articles = json_object(reading.whole(), name).get("data")
    for number, article in enumerate(_objects(articles, f"{name}: data")):
        where = f"{name}: data[{number}]"
        for place, paragraph in enumerate(_objects(article.get("paragraphs"), f"{where}.paragraphs")):
            yield from _paragraph(reading, paragraph, f"{where}.paragraphs[{place}]")


def _paragraph(reading: Reading, paragraph: Mapping[str, object], where: str) -> Iterator[Question]:
    context = paragraph.get("context")
    if not isinstance(context, str):
        raise InputError(f'{where}: no "context"; give SQuAD 1.1')
    passage = reading.mended(context)
    tokens = reading.tokens(passage)
    offsets = token_offsets(passage, tokens)
    for place, asked in enumerate(_objects(paragraph.get("qas"), f"{where}.qas")):
        here = f"{where}.qas[{place}]"
        text, name = asked.get("question"), asked.get("id")
        if not isinstance(text, str) or not isinstance(name, str):
            raise InputError(f'{here}: no "question" and "id", both strings; give SQuAD 1.1')
        question = reading.tokens(text)
        if not question or not tokens:
            reading.count(EMPTY_TEXT, here)
            continue
        answers = _answers(reading, passage, offsets, asked.get("answers"), here)
        if answers or not reading.options.labelled:
            yield Question(name, question, passage, tokens, offsets, answers or None)
        else:
            reading.count(NO_ANSWER, here)


def _answers(reading: Reading, passage: str, offsets: Offsets, given: object, where: str) -> tuple[Answer, ...] | None:
    if given is None:
        return None
    found: list[Answer] = []
    for answer in _objects(given, f"{where}.answers"):
        start, text = answer.get("answer_start"), answer.get("text")
        if not is_number(start) or not isinstance(text, str) or not text.strip():
            raise InputError(f'{where}: an answer needs "answer_start", a number, and "text"; give SQuAD 1.1')
        placed = place_answer(reading, passage, offsets, Answer(start, text), where)
        if placed is not None:
            found.append(placed)
    return tuple(found)


def place_answer(reading: Reading, passage: str, offsets: Offsets, answer: Answer, where: str) -> Answer | None:
    """The answer where its text really is, nearest to where it is said to be; None if it is nowhere."""
    start, text = answer.start, answer.text
    if passage[start : start + len(text)] != text:
        places = _occurrences(passage, text)
        if not places:
            reading.count(LOST_ANSWER, where)
            return None
        start = min(places, key=lambda place: abs(place - answer.start))
        reading.count(MOVED_ANSWER, where)
    begins, ends = start + len(text) - len(text.lstrip()), start + len(text.rstrip())
    if all(begins != first for first, _ in offsets) or all(ends != last for _, last in offsets):
        reading.count(INSIDE_TOKEN, where)
    return Answer(start, text)


def _occurrences(passage: str, text: str) -> list[int]:
    found: list[int] = []
    place = passage.find(text)
    while place >= 0:
        found.append(place)
        place = passage.find(text, place + 1)
    return found


def token_offsets(text: str, tokens: Sequence[str]) -> Offsets:
    """The first character of each token in a text, and the one behind its last; only white space may be between them.

    Raises:
        InputError: The tokens are not those of the text.

    Example:
        >>> token_offsets("It's late.", ["It", "'s", "late", "."])
        ((0, 2), (2, 4), (5, 9), (9, 10))
    """
    offsets: list[tuple[int, int]] = []
    end = 0
    for token in tokens:
        start = _behind_space(text, end, token[:1])
        end = start
        if text.startswith(token, start):
            end += len(token)
        else:  # white space may be inside a token's text, as where a word is broken between lines
            for character in token:
                end = _behind_space(text, end, character) + 1
                if text[end - 1 : end] != character:
                    raise InputError(
                        f"the token {token!r} is not in the text behind character {start}; give its own tokens"
                    )
        offsets.append((start, end))
    return tuple(offsets)


def _behind_space(text: str, place: int, character: str) -> int:
    """Where the next character is that is no white space, or is this one."""
    while place < len(text) and text[place] != character and text[place].isspace():
        place += 1
    return place


def _objects(value: object, where: str) -> Iterator[Mapping[str, object]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InputError(f"{where}: a list of objects is expected; give SQuAD 1.1")
    yield from value
