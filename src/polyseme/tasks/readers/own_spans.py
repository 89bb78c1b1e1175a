"""Questions, roles and documents from a record of a user's own data."""

from polyseme.tasks.examples import Answer, Document, Question, Roles, Span
from polyseme.tasks.readers.brackets import Clusters, gathered
from polyseme.tasks.readers.json_values import are_strings, is_number
from polyseme.tasks.readers.own_fields import Fields
from polyseme.tasks.readers.questions import place_answer, token_offsets
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import EMPTY_DOCUMENT, EMPTY_TEXT, NO_ANSWER, TWO_CLUSTERS, UNCLOSED_SPAN


def read_question(reading: Reading, fields: Fields) -> Question | str:
    """A question about a passage, or why it is left out."""
    question, passage = reading.tokens(fields.string("question")), fields.string("passage")
    tokens = reading.tokens(passage)
    if not question or not tokens:
        return EMPTY_TEXT
    offsets = token_offsets(passage, tokens)
    answers = None
    if reading.options.labelled or fields.has("answers") or fields.has("answer"):
        placed = [
            place_answer(reading, passage, offsets, answer, reading.place) for answer in _answers(fields, passage)
        ]
        answers = tuple(answer for answer in placed if answer is not None)
        if not answers and reading.options.labelled:
            return NO_ANSWER
    name = str(fields.value("id")) if fields.has("id") else str(reading.lines.number)
    return Question(name, question, passage, tokens, offsets, answers or None)


def _answers(fields: Fields, passage: str) -> list[Answer]:
    given = fields.listed("answers") if fields.has("answers") else [fields.string("answer")]
    found: list[Answer] = []
    for answer in given if isinstance(given, list) else [None]:
        match answer:
            case str(text) if text.strip():
                found.append(Answer(max(passage.find(text), 0), text))
            case {"start": start, "text": str(text)} if is_number(start) and text.strip():
                found.append(Answer(start, text))
            case _:
                raise fields.wrong("answers", 'a list of strings or of {"start": 0, "text": "..."}')
    return found


def read_roles(reading: Reading, fields: Fields) -> Roles | str:
    """A sentence with the arguments of a predicate."""
    tokens = fields.tokens("tokens")
    predicate = fields.listed("predicate")
    if not is_number(predicate) or predicate >= len(tokens):
        raise fields.wrong("predicate", f"the position of a token, 0 to {len(tokens) - 1},")
    if not fields.has("spans") and not reading.options.labelled:
        return Roles(tokens, predicate)
    given = fields.listed("spans")
    spans: list[Span] = []
    for span in given if isinstance(given, list) else [None]:
        match span:
            case [start, end, str(label)] if is_number(start) and is_number(end) and start < end and label:
                if start >= len(tokens):
                    raise fields.wrong("spans", f"a start before token {len(tokens)}")
                if end > len(tokens):
                    reading.count(UNCLOSED_SPAN)
                spans.append(Span(start, min(end, len(tokens)), label))
            case _:
                raise fields.wrong("spans", "a list of [start, end, label]")
    return Roles(tokens, predicate, tuple(sorted(spans, key=lambda span: (span.start, -span.end))))


def read_document(reading: Reading, fields: Fields) -> Document | str:
    """A document with its clusters, or why it is left out."""
    given = fields.listed("sentences")
    if not isinstance(given, list) or not all(map(are_strings, given)):
        raise fields.wrong("sentences", "a list of lists of tokens")
    sentences = tuple(tuple(map(reading.mended, sentence)) for sentence in given if sentence)
    if not sentences:
        return EMPTY_DOCUMENT
    name = str(fields.value("id")) if fields.has("id") else str(reading.lines.number)
    if not fields.has("clusters") and not reading.options.labelled:
        return Document(name, sentences)
    return Document(name, sentences, _clusters(reading, fields, sum(map(len, sentences))))


def _clusters(reading: Reading, fields: Fields, length: int) -> Clusters:
    given = fields.listed("clusters")
    home: dict[tuple[int, int], str] = {}
    for number, cluster in enumerate(given if isinstance(given, list) else [None]):
        for mention in cluster if isinstance(cluster, list) else [None]:
            match mention:
                case [start, end] if is_number(start) and is_number(end) and start < end <= length:
                    if home.setdefault((start, end), str(number)) != str(number):
                        reading.count(TWO_CLUSTERS)
                case _:
                    raise fields.wrong("clusters", f"a list of lists of [start, end] within {length} tokens")
    return gathered(home)
