"""Choices for embedding, in a module that imports nothing, so that the command line can offer them at once."""

from typing import Literal, get_args

Pool = Literal["mean", "max"]
"""How the vectors of the tokens make one vector per sentence."""
POOLS: tuple[Pool, ...] = get_args(Pool)

NumberType = Literal["float32", "float16"]
"""The numbers in a file of vectors."""
NUMBER_TYPES: tuple[NumberType, ...] = get_args(NumberType)
