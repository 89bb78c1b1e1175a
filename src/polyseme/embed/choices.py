"""The choices about vectors of text, importable without torch."""

from typing import Literal, get_args

LayerName = Literal["all", "mean", "top"]
"""All layers, their mean, or the last one; a layer may also be named by its number."""
LAYER_NAMES: tuple[LayerName, ...] = get_args(LayerName)

Pool = Literal["mean", "max"]
"""How the vectors of a sentence's tokens become one."""
POOLS: tuple[Pool, ...] = get_args(Pool)

NumberType = Literal["float32", "float16"]
"""The numbers in a file of vectors."""
NUMBER_TYPES: tuple[NumberType, ...] = get_args(NumberType)

Keys = Literal["auto", "number", "name"]
"""How arrays in a file are called: by the number of their sentence, or by its name. ``auto``: by name for FASTA."""
KEYS: tuple[Keys, ...] = get_args(Keys)
