"""What tasks have in common that give every token a tag."""

from collections.abc import Sequence

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.tasks.examples import Tagged, Tokens
from polyseme.tasks.kind import Kind, Tables


class TaggedKind(Kind[Tagged]):
    """A task whose examples are sentences with a tag for each token."""

    example = Tagged

    def sentences(self, example: Tagged) -> Sequence[Tokens]:
        """See `Kind`."""
        return (example.tokens,)

    def is_labelled(self, example: Tagged) -> bool:
        """See `Kind`."""
        return example.tags is not None

    def blank(self, example: Tagged, tables: Tables) -> Tagged:
        """No token, no tag."""
        return Tagged(example.tokens, ())

    def to_dict(self, example: Tagged) -> dict[str, JSON]:
        """See `Kind`."""
        return {"tokens": [*example.tokens], "tags": [*(example.tags or ())]}

    def difference(self, gold: Tagged, predicted: Tagged) -> tuple[str, str]:
        """The words whose tags differ, with their tags."""
        found = [
            (f"{token}/{right}", f"{token}/{given}")
            for token, right, given in zip(gold.tokens, gold.tags or (), predicted.tags or (), strict=True)
            if right != given
        ]
        return " ".join(right for right, _ in found), " ".join(given for _, given in found)

    def of_sentences(self, sentences: Sequence[Tokens]) -> list[Tagged]:
        """See `Kind`."""
        return [Tagged(sentence) for sentence in sentences]


def tags_of(examples: Sequence[Tagged]) -> list[tuple[str, ...]]:
    """The tags of sentences that all have some.

    Raises:
        InputError: A sentence has none.
    """
    found = []
    for number, example in enumerate(examples, 1):
        if example.tags is None:
            raise InputError(f"sentence {number:,} has no tags to learn or to compare with; give tagged sentences")
        found.append(example.tags)
    return found
