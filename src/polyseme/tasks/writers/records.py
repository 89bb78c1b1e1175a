"""An example as a record of JSON, which `polyseme.tasks.readers.own_data` reads back."""

from polyseme.files.whole import JSON
from polyseme.tasks.examples import Document, Example, Pair, Question, Roles, Tagged, Text


def to_record(example: Example) -> dict[str, JSON]:
    """All that is known of an example; answers that are not known are left out.

    Example:
        >>> to_record(Text(("so", "good"), "positive"))
        {'tokens': ['so', 'good'], 'label': 'positive'}
    """
    match example:
        case Text(tokens, label):
            record: dict[str, JSON] = {"tokens": [*tokens], "label": label}
        case Tagged(tokens, tags):
            record = {"tokens": [*tokens], "tags": None if tags is None else [*tags]}
        case Pair(premise, hypothesis, label):
            record = {"premise": [*premise], "hypothesis": [*hypothesis], "label": label}
        case Question():
            record = {"id": example.id, "question": " ".join(example.question), "passage": example.passage}
        case Roles(tokens, predicate):
            record = {"tokens": [*tokens], "predicate": predicate}
        case Document():
            record = {"id": example.id, "sentences": [[*sentence] for sentence in example.sentences]}
    return {name: value for name, value in (record | answer_of(example)).items() if value is not None}


def answer_of(example: Example) -> dict[str, JSON]:
    """The answer alone, by the name of its column; None if it is not known."""
    match example:
        case Text() | Pair():
            return {"label": example.label}
        case Tagged():
            return {"tags": None if example.tags is None else [*example.tags]}
        case Question(answers=answers):
            known: list[JSON] = [{"start": answer.start, "text": answer.text} for answer in answers or ()]
            return {"answers": known or None}
        case Roles(spans=spans):
            return {"spans": None if spans is None else [[span.start, span.end, span.label] for span in spans]}
        case Document(clusters=clusters):
            shown: list[JSON] = [[[start, end] for start, end in cluster] for cluster in clusters or ()]
            return {"clusters": None if clusters is None else shown}
