"""The choices about model files, importable without torch."""

from typing import Literal

Storage = Literal["float32", "bfloat16", "int8"]
"""The numbers that a native folder keeps its weights in."""

Target = Literal["native", "hdf5", "vectors"]
"""What a model or a file of word vectors can be converted to."""
