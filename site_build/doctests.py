"""An extension of griffe: examples in docstrings are shown as Python sessions."""

import re
from typing import Any

import griffe

_SESSION = re.compile(r"^(?P<indent>[ \t]*)>>> .*(?:\n(?P=indent)\S.*|\n(?P=indent)[ \t]+\S.*)*", re.MULTILINE)


class Sessions(griffe.Extension):
    """Put fences around the examples of each docstring; Markdown would read them as quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring whose sessions stand between fences."""
    return _SESSION.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", text)
