"""How are vectors and records written into an answer?"""

import base64
import json
from collections.abc import Mapping

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import MissingPart
from polyseme.files.whole import JSON

try:
    import orjson
except ModuleNotFoundError as error:
    raise MissingPart("the server needs orjson, which is not installed; pip install 'polyseme[serve]'") from error


def as_base64(vectors: Vectors) -> bytes:
    """Little-endian float32 numbers as a JSON string."""
    return b'"' + base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()) + b'"'


def as_floats(vectors: Vectors) -> bytes:
    """Nested JSON lists; each number is the shortest that reads back as the same float32."""
    return orjson.dumps(np.ascontiguousarray(vectors, dtype=np.float32), option=orjson.OPT_SERIALIZE_NUMPY)


def as_json(value: Mapping[str, JSON] | JSON) -> bytes:
    """A record in UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:  # half of a surrogate pair, from a text that is not valid Unicode
        return json.dumps(value, ensure_ascii=True, allow_nan=False, default=str).encode("ascii")
