"""From a Chinese paragraph to its sentences. Nothing is lost: the sentences, put end to end, are the paragraph."""

import re

CLOSING = r"[\"'”’)\]}»」』）》】〉〕]*"

# Several stops are one: ？！ and ！”。 An ASCII mark within an address (?id=1) is none, nor a period beside a digit.
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
    """The sentences of a Chinese paragraph: up to a stop and the quotes and brackets closed after it.

    Stops within a title (《怎么办？》) or within a bracket that stands inside a sentence end no sentence.

    Example:
        >>> chinese_sentences("“走吧！”他说。天黑了；下雨了。")
        ['“走吧！”', '他说。', '天黑了；', '下雨了。']
    """
    sentences: list[str] = []
    start = 0
    for stop in _STOP.finditer(paragraph):
        end = stop.start()
        for character in stop.group():
            # A straight quote closes only what was opened in this sentence.
            if character in "\"'" and paragraph.count(character, start, end) % 2 == 0:
                break
            end += 1
        inside = paragraph[end - 1] in "》〉" or (
            paragraph[end - 1] in "）)" and not paragraph[start:end].lstrip().startswith(("（", "("))
        )
        if inside or _GOES_ON.match(paragraph, end):
            continue
        if _WORD.search(paragraph, start, end):  # else it leads in the next sentence: ……我不知道。
            sentences.append(paragraph[start:end])
            start = end
    if start < len(paragraph):
        sentences.append(paragraph[start:])
    return sentences
