"""The choices for model files, importable without torch."""

from typing import Literal

Storage = Literal["float32", "bfloat16", "int8"]
"""The number type of the weights in a native folder."""

Target = Literal["native", "hdf5", "vectors", "state-dict", "word2vec", "word2vec-text", "onnx"]
"""What a model or a file of word vectors can be converted to."""
WORD2VEC: frozenset[Target] = frozenset(("word2vec", "word2vec-text"))
