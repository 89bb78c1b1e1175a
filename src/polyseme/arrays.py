"""The kinds of arrays that pass between modules, each named once."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Embeddings; the docstring of each function gives the shape."""
HalfVectors = NDArray[np.float16]
"""Embeddings that are stored, or of which many are in memory."""
Numbers = NDArray[np.int64]
"""Counts, labels or positions."""
