"""May sentences be stored under their names? Each needs one, and no two the same."""

from collections.abc import Iterator
from contextlib import closing

from polyseme.embed.choices import KEYS, Keys
from polyseme.errors import InputError
from polyseme.text.corpus import Corpus, Sentence

_ADVICE = "give --keys number, or correct the text"


def chosen_keys(keys: Keys, corpus: Corpus) -> Keys:
    """The choice for a text: ``auto`` is by name if all of it is FASTA, and by number otherwise."""
    if keys not in KEYS:
        raise InputError(f"unknown keys {keys!r}; expected one of {', '.join(KEYS)}")
    if keys != "auto":
        return keys
    return "name" if corpus.layouts == {"fasta"} else "number"


def named_sentences(corpus: Corpus) -> Iterator[Sentence]:
    """The sentences of a text; an error is raised at the first that cannot be stored under its name.

    The names are held in memory. A slash makes a group of HDF5, so that ``A`` and ``A/1`` exclude each other.
    """
    seen: set[str] = set()
    groups: set[str] = set()
    before = None
    with closing(corpus.nonempty()) as sentences:
        for sentence in sentences:
            name, above = _checked(sentence)
            if before is not None and (name, _where(sentence)) == before:
                raise InputError(
                    f"{_where(sentence)}: a text of several sentences gives several with the same name, here "
                    f"{name[:60]!r}, and only one can be stored under it; give --keys number, or one sentence in a text"
                )
            if name in seen or name in groups or above & seen:
                raise InputError(f"{_where(sentence)}: the name {name[:60]!r} is taken by a sentence before; {_ADVICE}")
            seen.add(name)
            groups |= above
            before = None if sentence.file is None else (name, _where(sentence))
            yield sentence


def _checked(sentence: Sentence) -> tuple[str, set[str]]:
    """The name of a sentence, and the groups of HDF5 that are above it."""
    if not sentence.name:
        raise InputError(f"{_where(sentence)}: a sentence without a name cannot be stored under it; {_ADVICE}")
    parts = sentence.name.split("/")
    if "\0" in sentence.name or not all(part.strip(".") for part in parts):
        raise InputError(f"{_where(sentence)}: {sentence.name[:60]!r} cannot be a name in a file; {_ADVICE}")
    return sentence.name, {"/".join(parts[:count]) for count in range(1, len(parts))}


def _where(sentence: Sentence) -> str:
    return "sentences in memory" if sentence.file is None else f"{sentence.file}:{sentence.line}"
