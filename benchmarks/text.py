"""English sentences of natural length for all peers."""

import tempfile
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from pydoc_data.topics import topics

from benchmarks.process import CACHE, ROOT
from polyseme.text.corpus import Corpus

WIKITEXT = ROOT.parent / "shared/data/wikitext-2-raw/train.raw.gz"


def sentences(tokens: int) -> tuple[Path, str]:
    """A file with at least this many tokens, one tokenised sentence per line, and a description of the text."""
    CACHE.mkdir(exist_ok=True)
    if WIKITEXT.exists():
        name, source = "wikitext-2", "WikiText-2 (raw)"
    else:
        name, source = "python-reference", "the language reference that comes with Python, repeated where it is short"
    target = CACHE / f"{name}-{tokens}.txt"
    if not target.exists():
        working = target.with_suffix(".partial")
        with working.open("w", encoding="utf-8") as file:
            count = 0
            for sentence in wikitext(WIKITEXT) if WIKITEXT.exists() else _reference():
                file.write(" ".join(sentence) + "\n")
                count += len(sentence)
                if count >= tokens:
                    break
        working.replace(target)
    return target, source


def first_sentences(count: int) -> Path:
    """A file with this many sentences."""
    text, _ = sentences(60 * count)  # more than enough tokens
    target = CACHE / f"first-{count}.txt"
    with text.open(encoding="utf-8") as file:
        target.write_text("".join(islice(file, count)), encoding="utf-8")
    return target


def first_tokens(count: int) -> Path:
    """A file with exactly this many tokens; the last sentence is truncated."""
    text, _ = sentences(count)
    target = CACHE / f"tokens-{count}.txt"
    with text.open(encoding="utf-8") as file, target.open("w", encoding="utf-8") as output:
        left = count
        for line in file:
            words = line.split()[:left]
            left -= len(words)
            if words:
                output.write(" ".join(words) + "\n")
    return target


def wikitext(path: Path) -> Iterator[list[str]]:
    """The sentences of a part of WikiText."""
    for sentence in Corpus([str(path)], tokenize="en"):
        if sentence.tokens[0] != "=":  # headings
            yield list(sentence.tokens)


def _reference() -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.txt"
        path.write_text("\n\n".join(topics.values()), encoding="utf-8")
        read = [list(sentence.tokens) for sentence in Corpus([str(path)], tokenize="en")]
    return chain.from_iterable(repeat(read))
