"""Splits a Chinese paragraph into sentences. Nothing is lost: the sentences joined together are the paragraph."""

import re

CLOSING = r"[\"'”’)\]}»」』）》】〉〕]*"

# Several stops in a row count as one: ？！ and ！”。 An ASCII mark in an address (?id=1) or a period next to a digit is
# not a stop.
_AFTER_MARK = r"(?![A-Za-z0-9=&/%])"
_AFTER_PERIOD = r"(?=\s|$|[\u4e00-\u9fff“”])"
_MORE = rf"(?:[。｡！？…；]|[!?]{_AFTER_MARK})"
# It begins with one class of characters, which makes the search for it fast.
_STOP = re.compile(
    rf"[。｡！？…；!?.](?:(?<=[。｡！？…；])|(?<=[!?]){_AFTER_MARK}|(?<=[\u4e00-\u9fff]\.){_AFTER_PERIOD})"
    rf"{_MORE}*{CLOSING}(?:{_MORE}+{CLOSING})*"
)
_GOES_ON = re.compile(r"\s*[，、：,:]")  # “好！”，他说
_WORD = re.compile(r"\w")


def chinese_sentences(paragraph: str) -> list[str]:
    """The sentences of a Chinese paragraph; each ends with a stop and the closing quotes and brackets after it.

    Stops in a title (《怎么办？》) or in a bracket inside a sentence do not end the sentence.

    Example:
        >>> chinese_sentences("“走吧！”他说。天黑了；下雨了。")
        ['“走吧！”', '他说。', '天黑了；', '下雨了。']
    """
    sentences: list[str] = []
    start = 0
    for stop in _STOP.finditer(paragraph):
        end = stop.start()
        for character in stop.group():
            # A straight quote is a closing one only if one was opened in this sentence.
            if character in "\"'" and paragraph.count(character, start, end) % 2 == 0:
                break
            end += 1
        inside = paragraph[end - 1] in "》〉" or (
            paragraph[end - 1] in "）)" and not paragraph[start:end].lstrip().startswith(("（", "("))
        )
        if inside or _GOES_ON.match(paragraph, end):
            continue
        if _WORD.search(paragraph, start, end):  # otherwise it begins the next sentence: ……我不知道。
            sentences.append(paragraph[start:end])
            start = end
    if start < len(paragraph):
        sentences.append(paragraph[start:])
    return sentences
