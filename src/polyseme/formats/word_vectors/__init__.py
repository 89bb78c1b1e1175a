"""Tables of word vectors: reads GloVe, word2vec and fastText files, reads and writes a memory-mapped folder."""

import re
from pathlib import Path

from polyseme.errors import FormatError, InputError
from polyseme.formats.files import HDF5_SIGNATURE, ZIP_SIGNATURE, ZipFiles
from polyseme.formats.word_vectors import binary, folder, text, text_writer, word2vec_writer
from polyseme.formats.word_vectors.stream import Stream
from polyseme.formats.word_vectors.table import Header
from polyseme.models.static import WordVectors

__all__ = ["FILE_KIND", "FOLDER_KIND", "begins_as_table", "is_table", "read", "write", "write_text", "write_word2vec"]

FOLDER_KIND = folder.KIND
FILE_KIND = "a file of word vectors"
write = folder.write
write_text = text_writer.write
write_word2vec = word2vec_writer.write

# Files that people give by mistake: their first bytes, what they are, and what to do.
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (ZIP_SIGNATURE, "a zip; unpack it and give one file of word vectors"),
    (HDF5_SIGNATURE, "an HDF5 file, as a biLM's weights are, and not word vectors; polyseme.load reads such models"),
    (
        b"\x80",
        "a pickle (gensim's own .kv or .model), which can run any code when it is loaded, so it is never opened; with "
        "gensim, write KeyedVectors.load(...).save_word2vec_format('vectors.bin', binary=True)",
    ),
    (
        b"\xba\x16\x4f\x2f",
        "a fastText model (.bin); only its word vectors are read: give the .vec file that fastText writes next to it",
    ),
    (
        b"\x93NUMPY",
        "a matrix without its words (a .npy); write words and matrix as word2vec text, or pass both to "
        "polyseme.models.static.WordVectors",
    ),
    (b"BZh", "compressed by bzip2; unpack it first (of compressed files only gzip is read)"),
    (b"\xfd7zXZ", "compressed by xz; unpack it first (of compressed files only gzip is read)"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first (of compressed files only gzip is read)"),
    (b"\xff\xfe", "UTF-16; convert it first: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16; convert it first: iconv -f UTF-16 -t UTF-8"),
)
_HEAD = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*(?:\n|\Z)")
# Published vectors have at most a few thousand numbers; a damaged header may contain any number.
_LARGEST_DIM = 1 << 20


def is_table(path: Path) -> bool:
    """Whether a file begins like word vectors.

    Files that are often given by mistake but cannot be read as word vectors (a pickle, a fastText model) are refused.
    """
    with Stream(path) as stream:
        head = stream.peek(_HEAD)
        if head:
            _refuse_others(stream, head)
        return begins_as_table(head)


def begins_as_table(head: bytes) -> bool:
    """Whether the first bytes of a file are a header, or lines that end in several numbers."""
    return bool(_HEADER.match(head)) or text.usual_dim(head.removeprefix(_BYTE_ORDER_MARK)) > 1


def read(path: Path, *, limit: int | None = None) -> WordVectors:
    """Read word vectors of any known format, which is recognised by content.

    Args:
        path: A file of GloVe or word2vec text, of word2vec binary or of fastText text, plain or compressed by gzip, or
            a folder written by `write`.
        limit: Read only this many words, from the beginning.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}, expected at least 1 word, or None for all")
    if path.is_dir():
        return folder.read(path, limit=limit)
    with Stream(path) as stream:
        head = stream.peek(_HEAD)
        _refuse_others(stream, head)
        found = _HEADER.match(head)
        if found is None:
            stream.read(len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0)
            return text.read(stream, head.removeprefix(_BYTE_ORDER_MARK), None, limit=limit)
        header = Header(words=int(found[1]), dim=int(found[2]))
        if not header.words or not 0 < header.dim <= _LARGEST_DIM:
            raise FormatError(
                f"{path}:1: the header says {header.words:,} words of {header.dim:,} numbers; expected at least one "
                f"word and 1 to {_LARGEST_DIM:,} numbers; correct line 1 or fetch the file again"
            )
        stream.read(found.end())
        if text.begins_as_text(head[found.end() :]):
            return text.read(stream, b"", header, limit=limit)
        return binary.read(stream, header, limit=limit)


def _refuse_others(stream: Stream, head: bytes) -> None:
    if not head:
        raise FormatError(f"{stream.name}: is empty; expected word vectors")
    for signature, what in _OTHERS:
        if head.startswith(signature):
            if signature == ZIP_SIGNATURE and not stream.compressed:
                names = ZipFiles(Path(stream.name)).names
                what += f" (it holds {', '.join(names[:4])}{', ...' if len(names) > 4 else ''})"
            raise FormatError(f"{stream.name}: is {what}")
