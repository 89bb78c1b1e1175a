"""Finds fonts that have the characters of a text: matplotlib's, the one beside this file, and those installed."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_FIRST = "DejaVu Sans"
"""The font that comes with matplotlib: Latin, Greek, Cyrillic, Arabic and more, but no Chinese."""
_CHINESE = Path(__file__).with_name("chinese.ttf")
"""Chinese and Japanese of everyday text, so that no font has to be installed; `recipes.plot_font` makes it."""
_CHINESE_NAME = "Polyseme Chinese"
_NO_GLYPHS = "Last Resort"  # a font that draws every character as a box
_MOST = 3


@contextmanager
def quiet() -> Iterator[None]:
    """Silence matplotlib's warnings about fonts; our own note says once what is missing."""
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            yield
    finally:
        log.setLevel(level)


@quiet()
def families(characters: set[str]) -> tuple[list[str], set[str]]:
    """Return font families that together have the characters, the default first, and the characters none has."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    def has(family: str) -> frozenset[int]:
        return _covered(findfont(FontProperties(family=[family])))  # the file that matplotlib would use

    chosen = [_FIRST]
    missing = {one for one in characters if not one.isspace() and ord(one) not in has(_FIRST)}
    if here := {one for one in missing if ord(one) in _covered(str(_CHINESE))}:
        if _CHINESE_NAME not in {font.name for font in fontManager.ttflist}:
            fontManager.addfont(_CHINESE)
        chosen.append(_CHINESE_NAME)
        missing -= here
    if not missing:
        return chosen, missing
    _add_new_fonts()
    # Sans-serif fonts first, like the rest of a picture, then by name.
    names = sorted({font.name for font in fontManager.ttflist}, key=lambda name: ("Sans" not in name, name))
    for _ in range(_MOST):
        found = {name: {one for one in missing if ord(one) in has(name)} for name in names}
        best = max(found, key=lambda name: len(found[name]), default="")
        if not missing or not found.get(best):
            break
        chosen.append(best)
        missing -= found[best]
    return chosen, missing


@cache
def _add_new_fonts() -> None:
    """Register fonts that were installed after matplotlib cached its list of fonts."""
    from matplotlib import font_manager

    known = {font.fname for font in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            with suppress(Exception):  # broken fonts raise many kinds of errors
                font_manager.fontManager.addfont(path)


@cache
def _covered(path: str) -> frozenset[int]:
    """The code points a font has outlines for."""
    from matplotlib.ft2font import FaceFlags, FT2Font

    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):  # not a usable font
        return frozenset()
    if _NO_GLYPHS in font.family_name or FaceFlags.SCALABLE not in font.face_flags:
        return frozenset()
    return frozenset(font.get_charmap())
