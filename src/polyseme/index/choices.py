"""The choices about an index, importable without torch and faiss."""

from typing import Literal, get_args

Compression = Literal["float16", "int8", "pq"]
"""Two bytes per number, one, or a quarter of one."""
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)

Words = Literal["any", "same", "other"]
"""Which words to find: any, the one that is asked about (in any letter case), or others alone."""
WORDS: tuple[Words, ...] = get_args(Words)
