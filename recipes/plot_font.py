"""Makes the font that pictures draw Chinese and Japanese with where none is installed.

It is a part of Droid Sans Fallback (Google, Apache-2.0), from Debian's package fonts-droid-fallback::

    apt-get download fonts-droid-fallback && dpkg-deb -x fonts-droid-fallback_*.deb font
    python -m recipes.plot_font font/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf
"""

import sys
from pathlib import Path

from fontTools import subset

FONT = Path("src/polyseme/plots/chinese.ttf")
NAME = "Polyseme Chinese"


def characters() -> set[int]:
    """Simplified and traditional Chinese of everyday text, kana, and the punctuation of both."""
    chosen = {*range(0x20, 0x7F), *range(0x3000, 0x3100), *range(0xFF01, 0xFFE7), *map(ord, "·—‘’“”…《》「」『』")}
    for encoding in ("gb2312", "big5"):
        for high in range(0xA1, 0xF8):
            for low in range(0x40, 0xFF):
                text = bytes([high, low]).decode(encoding, errors="ignore")
                # The second half of Big5 is for rare characters.
                if len(text) == 1 and (encoding == "gb2312" or high < 0xC7):
                    chosen.add(ord(text))
    return chosen


def make(source: Path, target: Path) -> None:
    """Write the part of a font that has these characters, under a name of its own."""
    options = subset.Options(hinting=False, layout_features=[], name_IDs=[0, 1, 2, 4, 13, 14], notdef_outline=True)
    font = subset.load_font(str(source), options)
    made = subset.Subsetter(options)
    made.populate(unicodes=characters())
    made.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4):
            record.string = NAME
    font["head"].modified = font["head"].created  # makes the file reproducible
    font.recalcTimestamp = False
    subset.save_font(font, str(target), options)


if __name__ == "__main__":
    make(Path(sys.argv[1]), FONT)
