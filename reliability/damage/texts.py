"""Damages text: lines, columns, brackets, odd characters, and lines that never end."""

import random

from reliability.damage.plain import damage_bytes

_ODD = (
    *("\0", "\ufeff", "\u200b", "\u202e", "\ufffd", "\u2028", "\x1c", "\x85", "\x0b", "\r", "\r\n", "\t", "\t\t", " "),
    *("́" * 500, "👩‍👩‍👧‍👦" * 50, "ﷺ", "ß", "İ", "ǅ", "\U000e0001", "\U0010ffff", "เ" * 300, "的" * 2000, "a" * 70_000),
    *("-", "--", "_", "#", "(", ")", "((((", "))))", "[", "]", "<", ">", "</s>", "<s>", "&amp;", "&#0;", "&x;", "]]>"),
    *("nan", "inf", "-1", "1e999", "99999999999999999999", "0", "1.", "1-", "2-1", "1.1", "NaN", "١٢٣", "½", "0x1f"),
    *('"', "'", "\\", "\\u", '{"', "B-", "I-", "|", ":", "=", ",", ";", "<S>", "</S>", "<UNK>", ">", "*", "x" * 300),
)
_RAW = (
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\0\0\0", b"\x1f\x8b", b"\xff\xfe"),
    *(b"%PDF-1.4\n", b"<!DOCTYPE html>", b"PK\3\4", b"\x89HDF\r\n\x1a\n", b"{\\rtf1", b"\x80\2"),
    b"<!DOCTYPE a [<!ENTITY b 'bbbbbbbb'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]>",
)


def damage_text(data: bytes, draw: random.Random) -> bytes:
    """Text with one to four of its lines, fields or characters changed."""
    if draw.random() < 0.15:
        return damage_bytes(data, draw)
    for _ in range(draw.choice((1, 1, 2, 4))):
        data = draw.choice(_CHANGES)(data, draw)
    return data


def _lines(data: bytes, draw: random.Random) -> bytes:
    """Drop, repeat, exchange or join lines."""
    lines = data.split(b"\n")
    one, two = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(6)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines[one:one] = lines[two : two + draw.choice((1, 3))] * draw.choice((1, 1, 50))
    elif kind == 2:
        lines[one], lines[two] = lines[two], lines[one]
    elif kind == 3:
        lines[one : one + 2] = [b"".join(lines[one : one + 2])]
    elif kind == 4:
        lines[one:one] = [b""] * draw.choice((1, 2, 100))
    else:
        return draw.choice((b"\r\n", b"\r", b" ", b"", b"\0")).join(lines)
    return b"\n".join(lines)


def _fields(data: bytes, draw: random.Random) -> bytes:
    """Drop, repeat or replace a field of a line."""
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    separator = b"\t" if b"\t" in lines[at] else b"," if b"," in lines[at] and draw.random() < 0.3 else b" "
    fields = lines[at].split(separator)
    which = draw.randrange(len(fields))
    kind = draw.randrange(4)
    if kind == 0:
        del fields[which]
    elif kind == 1:
        fields[which:which] = [fields[draw.randrange(len(fields))]] * draw.choice((1, 1, 200))
    elif kind == 2:
        fields[which] = draw.choice(_ODD).encode()
    else:
        other = draw.randrange(len(fields))
        fields[which], fields[other] = fields[other], fields[which]
    lines[at] = separator.join(fields)
    return b"\n".join(lines)


def _insert(data: bytes, draw: random.Random) -> bytes:
    at = draw.randint(0, len(data))
    return (
        data[:at] + draw.choice((draw.choice(_ODD).encode(), draw.choice(_ODD).encode(), draw.choice(_RAW))) + data[at:]
    )


def _begin(data: bytes, draw: random.Random) -> bytes:
    return draw.choice((draw.choice(_ODD).encode(), draw.choice(_RAW))) + data


def _long(data: bytes, draw: random.Random) -> bytes:
    """A line, a token or a file far longer than others."""
    what = draw.choice((b"a", b"a ", b"\xe7\x9a\x84", b"( ", b"\xcc\x81", b"<w>", b"1\t"))
    at = draw.randint(0, len(data))
    return data[:at] + what * draw.choice((1000, 20_000, 200_000)) + data[at:]


_CHANGES = (_lines, _lines, _fields, _fields, _fields, _insert, _insert, _begin, _long)
