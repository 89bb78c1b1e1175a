"""Says what a file is that is not UTF-8 text, from its first bytes, and what to do with it."""

import re

from polyseme.errors import InputError

_EXTRACT = "save its text as UTF-8 from the program that made it, and give that"
_UNPACK = "unpack it, and give the text files in it"
_CHOOSE = "give text files"
_CONVERTED = "iconv -f {0} -t UTF-8 OLD > NEW"
# (first bytes, what it is, what to do), most specific first.
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF-", "a PDF", "extract its text first: pdftotext -enc UTF-8 FILE TEXT"),
    (b"%!PS", "PostScript", "extract its text first: ps2ascii FILE TEXT"),
    (b"{\\rtf", "Rich Text (RTF)", _EXTRACT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (.doc, .xls or .ppt)", _EXTRACT),
    (b"\x89PNG\r\n", "a PNG image", "recognise its text first (OCR), and give that"),
    (b"\xff\xd8\xff", "a JPEG image", "recognise its text first (OCR), and give that"),
    (b"GIF87a", "a GIF image", "recognise its text first (OCR), and give that"),
    (b"GIF89a", "a GIF image", "recognise its text first (OCR), and give that"),
    (b"II*\0", "a TIFF image", "recognise its text first (OCR), and give that"),
    (b"MM\0*", "a TIFF image", "recognise its text first (OCR), and give that"),
    (b"\xfd7zXZ\0", "compressed by xz", "decompress it first: unxz FILE"),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard", "decompress it first: unzstd FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"\x89HDF\r\n\x1a\n", "HDF5", "it holds numbers, such as vectors or weights; give text files"),
    (b"ARROW1\0", "Arrow", "write its column of text to a file of lines or JSON lines"),
    (b"\x93NUMPY", "a NumPy array", _CHOOSE),
    (b"SQLite format 3\0", "an SQLite database", "write its column of text to a file of lines or JSON lines"),
    (b"\x7fELF", "a program", _CHOOSE),
    (b"MZ\x90\0", "a Windows program", _CHOOSE),
    (b"\xcf\xfa\xed\xfe", "a program", _CHOOSE),
    (b"\0asm", "a program", _CHOOSE),
    (b"OggS\0", "audio or video", "transcribe it first, and give that"),
    (b"fLaC", "audio", "transcribe it first, and give that"),
    (b"\x1a\x45\xdf\xa3", "video", "transcribe it first, and give that"),
)
_ZIPPED: tuple[tuple[bytes, str, str], ...] = (
    (b"mimetypeapplication/epub", "an e-book (EPUB)", "convert it to text first, as with pandoc FILE -t plain -o TEXT"),
    (b"mimetypeapplication/vnd.oasis", "an OpenDocument file", _EXTRACT),
    (b"word/", "a Word document", _EXTRACT),
    (b"xl/", "an Excel workbook", _EXTRACT),
    (b"ppt/", "a PowerPoint presentation", _EXTRACT),
    (b"[Content_Types].xml", "an Office document", _EXTRACT),
    (b".npy", "an archive of NumPy arrays", _CHOOSE),
)
_INSIDE: tuple[tuple[int, bytes, str, str], ...] = (
    (257, b"ustar", "a tar archive", _UNPACK),
    (8, b"WAVE", "audio", "transcribe it first, and give that"),
    (8, b"WEBP", "a WebP image", "recognise its text first (OCR), and give that"),
    (8, b"AVI ", "video", "transcribe it first, and give that"),
    (4, b"ftyp", "video or audio", "transcribe it first, and give that"),
    (8, b'{"', "a safetensors file", "it holds weights; give text files"),
)
_PATTERNS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S),
        "HTML",
        "take the text out of it first, as with pandoc FILE -t plain -o TEXT",
    ),
    (re.compile(rb"BZh[1-9]1AY&SY"), "compressed by bzip2", "decompress it first: bunzip2 FILE"),
    (re.compile(rb"PAR1[\0-\x1f]"), "Parquet", "write its column of text to a file of lines or JSON lines"),
    (re.compile(rb"ID3[\x02-\x04]"), "audio", "transcribe it first, and give that"),
    (re.compile(rb"\x80[\x02-\x05][\x95}\]cX(]"), "pickled data", _CHOOSE),
)
_BYTE_ORDER_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_MOST_BROKEN = 0.3
_SOME_BROKEN = 0.05  # of Chinese in UTF-16, many bytes are also ASCII
_WIDE = (("UTF-32LE", 4, 0), ("UTF-32BE", 4, 3), ("UTF-16LE", 2, 0), ("UTF-16BE", 2, 1))
_COMMON = re.compile(r"[\u4e00-\u9fff\u3040-\u30ff\u3000-\u303f\uff01-\uff5e\sa-zA-Z0-9.,]")
_FREQUENT = frozenset(
    "的一是不了在人有我他这个们来到时说大上为和国地道出也就你那天她得着，。、“”：！？のはをにがて之曰者"
)


def check_text(head: bytes, name: str) -> None:
    """Raise an error if a file that begins with these bytes is clearly not UTF-8 text.

    Args:
        head: The first bytes, decompressed.
        name: Of the file.
    """
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise InputError(f"{name}: is {encoding}; convert it first: iconv -f {encoding} -t UTF-8")
    if kind := _kind(head):
        what, advice = kind
        raise InputError(f"{name}: is {what}, not text; {advice}")
    text = head.decode("utf-8", "replace")
    broken = text.count("\ufffd") - head.count("\ufffd".encode()) + text.count("\0")
    if broken <= _SOME_BROKEN * len(text):
        return
    if found := _encoding(head):
        raise InputError(f"{name}: looks like text in {found}; convert it first: {_CONVERTED.format(found)}")
    if broken <= _MOST_BROKEN * len(text):
        return
    raise InputError(
        f"{name}: does not look like text: {broken:,} of its first {len(text):,} characters are not UTF-8; "
        "give UTF-8 text, and convert text in another encoding first"
    )


def _kind(head: bytes) -> tuple[str, str] | None:
    """What a file is, and what to do with it; None if its first bytes are those of no other kind of file."""
    for magic, what, advice in _MAGIC:
        if head.startswith(magic):
            return what, advice
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return next(((what, advice) for part, what, advice in _ZIPPED if part in head), ("a zip archive", _UNPACK))
    for place, magic, what, advice in _INSIDE:
        if head[place : place + len(magic)] == magic and b"\0" in head[: place + 16]:
            return what, advice
    return next(((what, advice) for pattern, what, advice in _PATTERNS if pattern.match(head)), None)


def _encoding(head: bytes) -> str | None:
    """The encoding of text that is not UTF-8; None if it is not recognised."""
    for name, width, place in _WIDE:
        usable = head[: len(head) // width * width]
        # Of Latin letters all bytes but one are zero.
        zeros = sum(usable[at::width].count(0) for at in range(width) if at != place)
        if usable and zeros > 0.7 * (len(usable) // width) * (width - 1) and usable[place::width].count(0) < zeros / 8:
            return name
    for name in ("UTF-16LE", "UTF-16BE", "GB18030", "Big5", "Shift_JIS", "EUC-JP"):
        text = head.decode(name, "replace")
        common, frequent = len(_COMMON.findall(text)), sum(one in _FREQUENT for one in text)
        if common > 0.9 * len(text) and frequent > 0.08 * len(text):
            return name
    return None
