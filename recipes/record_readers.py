"""Collections of records (JSON, CSV, XML, game data): from the files of an archive to documents of running text."""

import csv
import html
import io
import json
import re
from collections.abc import Iterator

from recipes.archive import Members

_PARAGRAPH = "\n\n"
_TAG = re.compile(r"<[^>]*>")


def reviews(members: Members) -> Iterator[str]:
    """The column ``text`` of a CSV file of reviews, a document per review; labels are not read.

    Sentences from Rotten Tomatoes are left out: they are those of the Stanford Sentiment Treebank.
    """
    csv.field_size_limit(2**24)
    for _, content in members:
        for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig"))):
            if row["source"] == "rotten_tomatoes":
                continue
            yield html.unescape(_TAG.sub(" ", row["text"].replace("<br /><br />", _PARAGRAPH)))


def chat_messages(members: Members) -> Iterator[str]:
    """Conversations in JSON, a document per conversation; each message is a paragraph, names are not read."""
    for _, content in members:
        for conversation in json.loads(content).values():
            yield _PARAGRAPH.join(
                " ".join(message["text"].split()) for turn in conversation["messages"] for message in turn
            )


def passages(members: Members) -> Iterator[str]:
    """The ``passage`` of each JSON line, once; lines that are not JSON are passed over."""
    seen: set[str] = set()
    for _, content in members:
        for line in content.decode("utf-8", "replace").splitlines():
            try:
                passage = json.loads(line)["passage"]
            except json.JSONDecodeError:
                continue
            if passage not in seen:
                seen.add(passage)
                yield passage.replace("CANNOTANSWER", "").replace("``", '"').replace("''", '"')


_ARTICLE = re.compile(r"<PubmedArticle>.*?</PubmedArticle>", re.DOTALL)
_ABSTRACT = re.compile(r"<AbstractText[^>]*>(.*?)</AbstractText>", re.DOTALL)
_RIGHTS = re.compile(r"<CopyrightInformation>(.*?)</CopyrightInformation>", re.DOTALL)


def pubmed(members: Members) -> Iterator[str]:
    """Abstracts of PubMed, a document per article; those for which somebody claims copyright are left out."""
    for _, content in members:
        for article in _ARTICLE.findall(content.decode("utf-8")):
            rights = _RIGHTS.search(article)
            if "<Language>eng</Language>" not in article or (rights and "creative commons" not in rights[1].lower()):
                continue
            parts = (html.unescape(_TAG.sub("", part)) for part in _ABSTRACT.findall(article))
            if text := _PARAGRAPH.join(part.replace("(ABSTRACT TRUNCATED AT 250 WORDS)", "") for part in parts):
                yield text


_YEAR = re.compile(r"^\d+ (?:BC )?[-–] ")


def dated_lines(members: Members) -> Iterator[str]:
    """One event per line, its year left out: ``1789 - Washington is elected.`` and the like."""
    for _, content in members:
        lines = content.decode("utf-8", "replace").splitlines()
        yield _PARAGRAPH.join(_YEAR.sub("", line).strip() for line in lines if line.strip())


_QUOTED = re.compile(r"`([^`]*)`")


def game_stories(members: Members) -> Iterator[str]:
    """Stories and dialogue of a game: what stands between backticks in its data files, without place-holders."""
    for _, content in members:
        texts = _QUOTED.findall(content.decode("utf-8", "replace"))
        yield _PARAGRAPH.join(text.strip() for text in texts if "<" not in text and len(text.split()) > 1)


_TURN = re.compile(r"(?ms)^(system|user|assistant channel=final):\n(.*?)(?=^\S[^\n]*:\n|\Z)")
_ARTICLE_OF_LAW = re.compile(r"<[條条]文[內内]容><!\[CDATA\[(.*?)\]\]></[條条]文[內内]容>", re.DOTALL)
_NUMBERED = re.compile(r"(?m)^\s*(?:[一二三四五六七八九十]+、|（[一二三四五六七八九十]+）|\d+[.、])\s*")


def articles_of_law(members: Members) -> Iterator[str]:
    """Articles of laws in XML, a document per law, in simplified characters."""
    for content in _simplified(members):
        for law in re.split("</法[規规]>", content):
            articles = (_NUMBERED.sub("", article) for article in _ARTICLE_OF_LAW.findall(law))
            # The lines of an article are wrapped without a space.
            yield _PARAGRAPH.join(re.sub(r"(?<![。：；])\s*\n\s*", "", text) for text in articles)


def staged_dialogues(members: Members) -> Iterator[str]:
    """What is said in dialogues (``system:``, ``user:``, ``assistant channel=final:``), in simplified characters."""
    for content in _simplified(members):
        yield _PARAGRAPH.join(text.strip() for _, text in _TURN.findall(content))


def _simplified(members: Members) -> Iterator[str]:
    """The files after a table of characters, put from traditional into simplified characters.

    The table, ``TSCharacters.txt`` of OpenCC, holds lines of a traditional character, a tab and its simplified ones.
    """
    table: dict[int, str] = {}
    for name, content in members:
        if name.endswith("TSCharacters.txt"):
            pairs = (line.split("\t") for line in content.decode("utf-8").splitlines() if "\t" in line)
            table |= {ord(traditional): targets.split()[0] for traditional, targets in pairs}
        else:
            yield content.decode("utf-8-sig", "replace").translate(table)
