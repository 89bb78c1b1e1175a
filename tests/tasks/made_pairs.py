"""Small generated pairs of sentences, and questions about small generated passages."""

import random
from itertools import accumulate

from polyseme.tasks.examples import Answer, Pair, Question

_THINGS = ("cat", "dog", "car")
_COLOURS = ("red", "dark green", "blue")


def pairs(count: int, *, seed: int = 0) -> list[Pair]:
    """What is said of one thing of the first sentence follows; the opposite does not; of another thing nothing is."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        things = draw.sample(_THINGS, draw.randint(1, 2))
        label = draw.choice(("entailment", "contradiction", "neutral"))
        others = [thing for thing in _THINGS if thing not in things]
        asked = draw.choice(others if label == "neutral" else things)
        said = ("no", asked, "sleeps") if label == "contradiction" else ("a", asked, "sleeps")
        premise = [word for thing in things for word in ("the", thing, "sleeps")]
        examples.append(Pair(tuple(premise), said, label))
    return examples


def questions(count: int, *, seed: int = 0) -> list[Question]:
    """The colour of a thing, in a passage about the colours of several things."""
    draw = random.Random(seed)
    examples = []
    for number in range(count):
        things = draw.sample(_THINGS, draw.randint(1, 2))
        colours = [draw.choice(_COLOURS) for _ in things]
        facts = [f"The {thing} is {colour} ." for thing, colour in zip(things, colours, strict=True)]
        asked = draw.randrange(len(things))
        passage = " ".join(facts)
        start = passage.index(f"{things[asked]} is ") + len(things[asked]) + 4
        question = question_of(str(number), f"What colour is the {things[asked]} ?", passage)
        answers = (Answer(start, colours[asked]),)
        examples.append(Question(question.id, question.question, passage, question.tokens, question.offsets, answers))
    return examples


def question_of(name: str, question: str, passage: str, answers: tuple[Answer, ...] | None = None) -> Question:
    """A question whose tokens have single spaces between them."""
    tokens = tuple(passage.split(" "))
    ends = [end - 1 for end in accumulate(len(token) + 1 for token in tokens)]
    offsets = tuple((end - len(token), end) for token, end in zip(tokens, ends, strict=True))
    return Question(name, tuple(question.split()), passage, tokens, offsets, answers)
