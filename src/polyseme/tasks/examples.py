"""What one example of each task is: its tokens, and the answer if it is known."""

from dataclasses import dataclass

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text that belongs to a class.

    Attributes:
        tokens: Its tokens.
        label: Its class; None if it is not known.
    """

    tokens: Tokens
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Tagged:
    """A sentence with a tag for each token: its part of speech, or the entity it is part of.

    Attributes:
        tokens: Its tokens.
        tags: As many tags, for entities in BIO or BIOES (``B-PER I-PER O``); None if they are not known.
    """

    tokens: Tokens
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, and what the first says of the second.

    Attributes:
        premise: The tokens of the first sentence.
        hypothesis: The tokens of the second sentence.
        label: Whether the second follows, as the data names it (``entailment``); None if it is not known.
    """

    premise: Tokens
    hypothesis: Tokens
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A stretch of a passage.

    Attributes:
        start: The position of its first character in the passage.
        text: Its characters.
    """

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a passage, answered by a stretch of the passage.

    Attributes:
        id: The name of the question.
        question: The tokens of the question.
        passage: The passage as it is written.
        tokens: The tokens of the passage.
        offsets: The first character of each token in the passage, and the one behind its last.
        answers: All answers that count as right; None if they are not known.
    """

    id: str
    question: Tokens
    passage: str
    tokens: Tokens
    offsets: tuple[tuple[int, int], ...]
    answers: tuple[Answer, ...] | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring tokens with a label.

    Attributes:
        start: The position of the first token.
        end: The position behind the last token.
        label: What the tokens are.
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Roles:
    """A sentence with the arguments of one of its predicates.

    Attributes:
        tokens: Its tokens.
        predicate: The position of the predicate (of its first word, if it has several).
        spans: The arguments in their order, the predicate's own ``V`` among them if the data has it; None if they are
            not known.
    """

    tokens: Tokens
    predicate: int
    spans: tuple[Span, ...] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose mentions of the same thing are gathered in clusters.

    Attributes:
        id: The name of the document.
        sentences: The tokens of each sentence.
        clusters: Each cluster's mentions in their order, as the position of the first token and the position behind
            the last, counted in tokens of the whole document; None if they are not known.
    """

    id: str
    sentences: tuple[Tokens, ...]
    clusters: tuple[tuple[tuple[int, int], ...], ...] | None = None


Example = Text | Tagged | Pair | Question | Roles | Document
