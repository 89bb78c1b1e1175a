"""Small generated data sets that a task can learn to near-perfect in seconds."""

import random

from polyseme.tasks.examples import Document, Roles, Span, Tagged, Text

_NAMES = {"PER": ("Anna", "Boris", "Chen"), "LOC": ("Rome", "Paris", "Oslo")}


def tagged(count: int, *, seed: int = 0) -> list[Tagged]:
    """Tags by the shape of a word, and of ``play`` by the word before it."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        tokens = [
            draw.choice(("river", "bank", "Rome", "Paris", "12", "7", "the", "play")) for _ in range(draw.randint(1, 8))
        ]
        tags = [
            "NUM"
            if word.isdigit()
            else "PROPN"
            if word[0].isupper()
            else "NOUN"
            if word != "play" or (place and tokens[place - 1] == "the")
            else "VERB"
            for place, word in enumerate(tokens)
        ]
        examples.append(Tagged(tuple(tokens), tuple(tags)))
    return examples


def entities(count: int, *, seed: int = 0, bioes: bool = False) -> list[Tagged]:
    """Names of one to three words after ``mr`` (PER) or ``in`` (LOC)."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        tokens, tags = ["today"], ["O"]
        for _ in range(draw.randint(0, 2)):
            label, mark = draw.choice((("PER", "mr"), ("LOC", "in")))
            length = draw.randint(1, 3)
            inner = ["B", *["I"] * (length - 1)]
            if bioes:
                inner[-1] = "S" if length == 1 else "E"
            tokens += [mark, *(draw.choice(_NAMES["PER"] + _NAMES["LOC"]) for _ in range(length)), "left"]
            tags += ["O", *(f"{part}-{label}" for part in inner), "O"]
        examples.append(Tagged(tuple(tokens), tuple(tags)))
    return examples


def texts(count: int, *, seed: int = 0) -> list[Text]:
    """A text is good if it has one of two words."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        label = draw.choice(("good", "bad"))
        tokens = [draw.choice(("the", "film", "was", "a", "play")) for _ in range(draw.randint(1, 7))]
        tokens.insert(
            draw.randint(0, len(tokens)), draw.choice(("fine", "great") if label == "good" else ("dull", "poor"))
        )
        examples.append(Text(tuple(tokens), label))
    return examples


def roles(count: int, *, seed: int = 0) -> list[Roles]:
    """The argument is the name before ``gives`` or the two names behind ``takes``, if that is the marked predicate."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        tokens: list[str] = []
        places: list[int] = []
        for _ in range(draw.randint(1, 2)):
            tokens += [draw.choice(_NAMES["PER"]), draw.choice(("gives", "takes")), *draw.choices(_NAMES["LOC"], k=2)]
            places.append(len(tokens) - 3)
        place = draw.choice(places)
        verb = Span(place, place + 1, "V")
        before, behind = Span(place - 1, place, "A0"), Span(place + 1, place + 3, "A1")
        spans = (before, verb) if tokens[place] == "gives" else (verb, behind)
        examples.append(Roles(tuple(tokens), place, spans))
    return examples


def documents(count: int, *, seed: int = 0) -> list[Document]:
    """Names with their pronouns: ``he`` is the last man, ``she`` the last woman; a name is the same person again."""
    draw = random.Random(seed)
    people = {"he": ("mr Smith", "mr Jones"), "she": ("ms Chen", "ms Okafor")}
    examples = []
    for number in range(count):
        sentences: list[tuple[str, ...]] = []
        clusters: dict[str, list[tuple[int, int]]] = {}
        last: dict[str, str] = {}
        position = 0
        for _ in range(draw.randint(1, 5)):
            pronoun = draw.choice(("he", "she"))
            person = last.get(pronoun) if draw.random() < 0.5 else None
            words = [pronoun]
            if person is None:
                person = last[pronoun] = draw.choice(people[pronoun])
                words = person.split()
            clusters.setdefault(person, []).append((position + 1, position + 1 + len(words)))
            sentences.append(("then", *words, draw.choice(("sang", "left")), "."))
            position += len(sentences[-1])
        linked = sorted(tuple(mentions) for mentions in clusters.values() if len(mentions) > 1)
        examples.append(Document(f"d{number}", tuple(sentences), tuple(linked)))
    return examples
