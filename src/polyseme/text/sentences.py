"""From a paragraph to its sentences. Nothing is lost: the sentences, put end to end, are the paragraph."""

import re

import sentencex

CLOSING = r"[\"'”’)\]}»」』）》】〉〕]*"

# Several stops are one: ？！ and ！”。 An ASCII mark within an address (?id=1) is none.
_CHINESE_STOP = re.compile(rf"(?:(?:[。｡！？…；]|[!?](?![A-Za-z0-9=&/%]))+{CLOSING})+")
_WORD = re.compile(r"\w")
_OTHER_SPACE = re.compile(r"[^\S ]")


def english_sentences(paragraph: str) -> list[str]:
    """The sentences of an English paragraph; any whitespace in them becomes a space."""
    # sentencex 1.0 panics at an initial before whitespace beyond ASCII: "A\u3000."
    sentences: list[str] = sentencex.segment("en", _OTHER_SPACE.sub(" ", paragraph))
    return sentences


def chinese_sentences(paragraph: str) -> list[str]:
    """The sentences of a Chinese paragraph: up to a stop and the quotes and brackets closed after it.

    Example:
        >>> chinese_sentences("“走吧！”他说。天黑了；下雨了。")
        ['“走吧！”', '他说。', '天黑了；', '下雨了。']
    """
    sentences: list[str] = []
    start = 0
    for stop in _CHINESE_STOP.finditer(paragraph):
        end = stop.start()
        for character in stop.group():
            # A straight quote closes only what was opened in this sentence.
            if character in "\"'" and paragraph.count(character, start, end) % 2 == 0:
                break
            end += 1
        if _WORD.search(paragraph, start, end):  # else it leads in the next sentence: ……我不知道。
            sentences.append(paragraph[start:end])
            start = end
    if start < len(paragraph):
        sentences.append(paragraph[start:])
    return sentences
