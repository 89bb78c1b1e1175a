"""English sources: the files of an archive to documents of running text, with blank lines between paragraphs."""

import csv
import io
import json
import re
from collections.abc import Iterator

from recipes.archive import Members

_PARAGRAPH = "\n\n"

_LICENCE_START = re.compile(r"\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*\n")
_LICENCE_END = re.compile(r"\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG|End of (?:the )?Project Gutenberg")
_HEADING = re.compile(
    r"(?m)^\s*(?:\[[^\]\n]*\]|(?:chapter|volume|book|part|act|scene|section|preface|finis)\b[^\n]{0,50}|[IVXLC]+\.?)$",
    re.IGNORECASE,
)
_VERSE_NUMBER = re.compile(r"(?m)(?:^|(?<=\s))\d+:\d+\s+")
_EMPHASIS = re.compile(r"\b_|_\b")
_WRAP = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=\S)")


def gutenberg(members: Members) -> Iterator[str]:
    """Read books of Project Gutenberg without licence, title, chapter headings, verse numbers and emphasis marks.

    Every line end inside a paragraph is a wrap, since these books are prose.
    """
    for _, content in members:
        text = content.decode("utf-8", "replace").replace("\r\n", "\n")
        if start := _LICENCE_START.search(text):
            text = text[start.end() :]
        if end := _LICENCE_END.search(text):
            text = text[: end.start()]
        text = _EMPHASIS.sub("", _VERSE_NUMBER.sub(_PARAGRAPH, _HEADING.sub("", text)))
        yield _WRAP.sub(" ", text)


def plain(members: Members) -> Iterator[str]:
    """Read one document per file."""
    for _, content in members:
        yield content.decode("utf-8", "replace")


_WIKITEXT_JOINED = re.compile(r" @([-,.])@ ")
_WIKITEXT_SPACES = (
    (re.compile(r" ([,.;:!?%)\]])"), r"\1"),
    (re.compile(r"([(\[$£€]) "), r"\1"),
    (re.compile(r" (['’](?:s|m|d|ll|re|ve|t)\b|n['’]t\b|['’](?= ))"), r"\1"),
    (re.compile(r"(?<![^\s(\[])\" ([^\"]*) \""), r'"\1"'),
)


def wikitext(members: Members) -> Iterator[str]:
    """Read paragraphs of WikiText without headings, with the tokenisation undone."""
    for _, content in members:
        paragraphs = []
        for line in content.decode("utf-8").splitlines():
            text = line.strip()
            if not text or text.startswith("="):
                continue
            text = _WIKITEXT_JOINED.sub(r"\1", text)
            for pattern, replacement in _WIKITEXT_SPACES:
                text = pattern.sub(replacement, text)
            paragraphs.append(text)
        yield _PARAGRAPH.join(paragraphs)


def maven(members: Members) -> Iterator[str]:
    """Read the English side of translated MAVEN: JSON lines with a list of sentences."""
    for _, content in members:
        for line in content.decode("utf-8").splitlines():
            yield _PARAGRAPH.join(sentence["sentence_en"].strip() for sentence in json.loads(line)["content"])


def tatoeba(members: Members) -> Iterator[str]:
    """Read the first column of sentence pairs; a sentence with several translations is on several lines in a row."""
    for _, content in members:
        column = (line.split("\t", 1)[0] for line in content.decode("utf-8").splitlines())
        yield _PARAGRAPH.join(dict.fromkeys(column))


_TAG = re.compile(r"<[^>]*>")
# The initials of the author of a note, at its end or before the next note: "... of his power. H.—Elohim".
_CITED = re.compile(r"\s*\((?:[A-Z][a-z]{0,5}\.?\s?)+\)")
_AUTHORITY = re.compile(r"\s*\(?\b(?:[A-Z][a-z]?)\.\)?\s*(?:—|$)")


def verses(members: Members) -> Iterator[str]:
    """Read the verses of a Bible in JSON, each as a paragraph."""
    for _, content in members:
        yield _PARAGRAPH.join(verse["text"] for verse in json.loads(content)["verses"].values())


def commentary(members: Members) -> Iterator[str]:
    """Read notes on the Bible in JSON, without tags and the initials of their authors."""
    for _, content in members:
        notes = (entry["body"]["en-US"] for entry in json.loads(content)["entries"])
        yield _PARAGRAPH.join(_AUTHORITY.sub(_PARAGRAPH, _CITED.sub("", _TAG.sub("", note))) for note in notes)


_LABELS = re.compile(r"# [^A-Z]*(?=[A-Z])")  # "# computing An array": labels are written small
_LINK = re.compile(r"\b([A-Za-z-]+),([A-Za-z-]+)\b(?! )")  # link and shown form: "tabulate,tabulating"
_FORM_OF = re.compile(
    r"(?i)\b(?:plural|form|spelling|participle|tense|misspelling|abbreviation|initialism|synonym) of\b"
)
_FEWEST_WORDS = 6


def wiktionary(members: Members) -> Iterator[str]:
    """Read glosses of Wiktionary as ``word: gloss``, without short ones and references to other words."""
    for _, content in members:
        glosses = []
        for line in content.decode("utf-8").splitlines():
            word, _, gloss = ([*line.split("\t"), "", ""])[:3]
            gloss = _LABELS.sub("", gloss.replace("\\", ""), count=1)
            if gloss.startswith("#") or len(gloss.split()) < _FEWEST_WORDS or _FORM_OF.search(gloss):
                continue
            shown = _LINK.sub(r"\2", gloss).strip()
            glosses.append(f"{word}: {shown}")
        yield _PARAGRAPH.join(glosses)


_EXAMPLE = re.compile(r'"([^"]+)"')


def wordnet(members: Members) -> Iterator[str]:
    """Read definitions of WordNet as ``word: definition``, with each example after its definition."""
    for _, content in members:
        paragraphs = []
        for line in content.decode("utf-8").splitlines():
            columns, bar, gloss = line.partition(" | ")
            if not bar or line.startswith(" "):
                continue
            word = columns.split()[4].replace("_", " ")
            definition = _EXAMPLE.sub("", gloss).strip(" ;")
            if len(definition.split()) >= _FEWEST_WORDS:
                paragraphs.append(f"{word.removesuffix('(a)').removesuffix('(p)')}: {definition}")
            paragraphs += [example.strip() for example in _EXAMPLE.findall(gloss)]
        yield _PARAGRAPH.join(paragraphs)


_BROKEN_QUOTE = re.compile(r'(?<=[.,!?])"\?')  # a wrong encoding merged a closing quote and a space
_BROKEN_APOSTROPHE = re.compile(r'(?<=s)"\?(?=[a-zA-Z])')
_STILL_BROKEN = re.compile(r'[^.!?]*\w"\?\w?[^.!?]*[.!?]?')


def csv_texts(members: Members) -> Iterator[str]:
    """Read the column ``text`` of CSV files, one document per row."""
    csv.field_size_limit(2**24)
    for _, content in members:
        for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig"))):
            text = _BROKEN_APOSTROPHE.sub("' ", _BROKEN_QUOTE.sub('" ', row["text"]))
            yield re.sub(r"\s{4,}", _PARAGRAPH, _STILL_BROKEN.sub("", text))


_ROLE = re.compile(r":[\w:+.-]+:`[~!]?(?:_\w+)?\.?([^`<]*?)(?:\s*<[^`>]*>)?`")
_REFERENCE = re.compile(r"`([^`<]*?)(?:\s*<[^`>]*>)?`_{1,2}")
_LITERAL = re.compile(r"`{1,2}([^`]*)`{1,2}|\*{1,2}([^*\s][^*]*)\*{1,2}")
_NO_PARAGRAPH = re.compile(r"(?:\.\. |[-*+#|>=~^\"'_] |:\w+:(?!`)|\d+[.)] |\w+::)")
_NO_PROSE = re.compile(r"^[=~^_+\"'*#.-]{3,}$|>>>|^\|.*\|$|::$")


def rst(members: Members) -> Iterator[str]:
    """Read paragraphs of reStructuredText without directives, lists, tables, code, headings and markup."""
    for _, content in members:
        paragraphs = []
        for block in re.split(r"\n\s*\n", content.decode("utf-8", "replace")):
            lines = block.strip("\n").splitlines()
            # Indented blocks belong to a directive or are code; a paragraph ends as a sentence does.
            if not lines or _NO_PARAGRAPH.match(lines[0]):
                continue
            if any(line[:1].isspace() or _NO_PROSE.search(line.rstrip()) for line in lines):
                continue
            text = _REFERENCE.sub(r"\1", _ROLE.sub(r"\1", " ".join(lines)))
            text = _LITERAL.sub(lambda match: match[1] or match[2] or "", text)
            if text.rstrip().endswith((".", "!", "?", '."', ".)")):
                paragraphs.append(text)
        yield _PARAGRAPH.join(paragraphs)
