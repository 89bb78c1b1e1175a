"""Is what a program prints what stands in the documentation?"""

import re
from collections.abc import Iterator
from itertools import zip_longest

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_SHARE = 0.02
"""Numbers may differ by as much, of 1 or of themselves: processors with other instructions round otherwise."""


def differences(stored: str, now: str) -> Iterator[str]:
    """The lines that differ in a word, or in a number by more than rounding explains.

    >>> list(differences("0.71  bank 12", "0.72  bank 12"))
    []
    >>> list(differences("0.71  bank", "0.81  bank"))
    ["'0.71  bank' stands there, '0.81  bank' is printed"]
    """
    for old, new in zip_longest(stored.splitlines(), now.splitlines(), fillvalue=""):
        if not _same(old, new):
            yield f"{old!r} stands there, {new!r} is printed"


def _same(old: str, new: str) -> bool:
    if _words(old) != _words(new):
        return False
    return all(_near(*both) for both in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True))


def _words(line: str) -> str:
    return " ".join(_NUMBER.sub("0", line).split())


def _near(old: str, new: str) -> bool:
    one, two = (float(number.replace(",", "")) for number in (old, new))
    return abs(one - two) <= _SHARE * max(1.0, abs(one))
