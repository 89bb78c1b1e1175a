"""The kinds of arrays that pass between modules, each named once."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Embeddings; the docstring of what takes or gives them names the shape."""
HalfVectors = NDArray[np.float16]
"""Embeddings where they are stored, or held in great number."""
Numbers = NDArray[np.int64]
"""Counts, labels or places."""
