"""Pages of manuals in mark-up (HTML, Markdown, roff): from the files of an archive to documents of running prose.

Only paragraphs that end as a sentence does are kept: headings, tables, lists of names and code fall away.
"""

import html
import re
from collections.abc import Iterable, Iterator

from recipes.archive import Members

_PARAGRAPH = "\n\n"
_ENDS = (".", "!", "?", '."', ".)", "]", "。", "！", "？", "。”", "。）", "。」")
_CJK = r"\u3400-\u9fff\u3000-\u303f\uff00-\uffef"
# A wrapped line of Chinese ends without a space.
_CHINESE_WRAP = re.compile(rf"(?<=[{_CJK}])\s*\n\s*|\s*\n\s*(?=[{_CJK}])")

# Chinese pages often leave out the last full stop; a comma among enough characters tells a sentence from a name.
_CHINESE_SENTENCE = re.compile(rf"^(?=.*[，。])(?:[^{_CJK}]*[{_CJK}]){{12}}")


def _prose(paragraphs: Iterable[str]) -> str:
    """Join the paragraphs that are sentences, each on one line."""
    unwrapped = (" ".join(_CHINESE_WRAP.sub("", text).split()) for text in paragraphs)
    return _PARAGRAPH.join(text for text in unwrapped if text.endswith(_ENDS) or _CHINESE_SENTENCE.search(text))


_HTML_PARAGRAPH = re.compile(
    r"<p(?:\s[^>]*)?>(.*?)(?=</p>|<p[\s>]|</?div|</li)|<div class=\"para\">(.*?)</div>", re.DOTALL | re.IGNORECASE
)
_HTML_CODE = re.compile(r"<(pre|script|style|table)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def html_pages(members: Members) -> Iterator[str]:
    """Paragraphs of HTML (or Mallard) pages; code, tables, lists and headings are left out."""
    for _, content in members:
        page = _HTML_CODE.sub("", content.decode("utf-8", "replace"))
        found = (match[1] or match[2] or "" for match in _HTML_PARAGRAPH.finditer(page))
        yield _prose(html.unescape(_TAG.sub("", text)) for text in found)


_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?")
_MARKDOWN_MARK = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_NO_PROSE = re.compile(r"\s{4}|\t|[-*+|#] |[|#]|\d+[.)] |```|~~~|<|:::|\.\. ")
_QUOTED_LINE = re.compile(r"(?m)^> ?")
_ESCAPED = re.compile(r"\\([^\w\s])")
_FENCE = re.compile(r"(?ms)^(```|~~~).*?^\1")


def markdown(members: Members) -> Iterator[str]:
    """Paragraphs of Markdown files: no headings, lists, tables or code."""
    for _, content in members:
        text = _QUOTED_LINE.sub("", _FENCE.sub("", content.decode("utf-8", "replace").replace("\r\n", "\n")))
        blocks = (block for block in re.split(r"\n\s*\n", text) if not _NO_PROSE.match(block.lstrip("\n")))
        bare = (_MARKDOWN_MARK.sub("", _MARKDOWN_LINK.sub(r"\1", block)) for block in blocks)
        yield _prose(_ESCAPED.sub(r"\1", block) for block in bare)


_ROFF_CODE = re.compile(r"(?ms)^\.(?:nf|EX|Bd)\b.*?^\.(?:fi|EE|Ed)\b.*?$|^\.TS.*?^\.TE")
_ROFF_BREAK = re.compile(r"(?m)^\.(?:PP|P|LP|SH|SS|TP|IP|HP|RS|RE|sp|br|TH|Pp|Sh|Ss|It|Bl|El)\b.*$|^\s*$")
_ROFF_FONT_LINE = re.compile(r"(?m)^\.(?:B|I|BR|IR|RB|RI|BI|IB|SM|SB) +")
_ROFF_COMMAND = re.compile(r"(?m)^['.].*$")
_ROFF_ESCAPE = re.compile(r"\\(?:f(?:\[[^\]]*\]|\(..|.)|s[-+]?\d|[&|^/,%]|\*\(..|\*.)")


def man_pages(members: Members) -> Iterator[str]:
    """Paragraphs of manual pages in roff, commands and fonts taken off."""
    for _, content in members:
        text = content.decode("utf-8", "replace")
        text = _ROFF_COMMAND.sub("", _ROFF_FONT_LINE.sub("", _ROFF_BREAK.sub("\0", _ROFF_CODE.sub("\0", text))))
        text = _ROFF_ESCAPE.sub("", text).replace("\\-", "-").replace("\\ ", " ").replace("\\e", "\\").replace('"', "")
        yield _prose(text.split("\0"))


_PYTHON_COMMENT = re.compile(r'"""(.*?)"""', re.DOTALL)
_FIELD = re.compile(r"^\s*:(?:param|type|rtype)\b[^:]*:")
_HTML_BREAK = re.compile(r"<br ?/?>|</?(?:li|p|ul|ol)>|\n|注意：|说明：")


_FEWEST_CHARACTERS = 12  # below, a description is a name rather than a sentence


def docstrings(members: Members) -> Iterator[str]:
    """What the docstrings of Python files say of fields and functions, where that is a sentence, each once."""
    for _, content in members:
        lines = (
            line
            for comment in _PYTHON_COMMENT.findall(content.decode("utf-8", "replace"))
            for line in comment.splitlines()
        )
        parts = (part for line in lines for part in _HTML_BREAK.split(_FIELD.sub("", line)))
        bare = dict.fromkeys(_TAG.sub("", part).strip() for part in parts)
        yield _prose(text for text in bare if len(text) >= _FEWEST_CHARACTERS)
