"""Contextual word vectors that anyone can load, run and look into.

>>> import polyseme
>>> embedder = polyseme.load("english-small")
>>> (vectors,) = embedder.embed([["The", "river", "bank"]])
>>> vectors.shape  # layers, tokens, dimensions
(3, 3, 256)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names are imported when first used: torch takes seconds, and `polyseme --help` must not wait for it.
_HOMES = {
    "BiLM": "polyseme.models.bilm",
    "Cove": "polyseme.embed.cove",
    "Elmo": "polyseme.compat.allennlp",
    "Embedder": "polyseme.embed.embedder",
    "OccurrenceIndex": "polyseme.index.occurrence_index",
    "ScalarMix": "polyseme.nn.scalar_mix",
    "StaticVectors": "polyseme.embed.static_vectors",
    "Task": "polyseme.tasks.task",
    "batch_to_ids": "polyseme.compat.allennlp",
    "combine": "polyseme.embed.combine",
    "load": "polyseme.embed.load",
    "train": "polyseme.train.lm.run",
}

__all__ = [
    "BiLM",
    "Cove",
    "Elmo",
    "Embedder",
    "OccurrenceIndex",
    "ScalarMix",
    "StaticVectors",
    "Task",
    "batch_to_ids",
    "combine",
    "load",
    "train",
]

if TYPE_CHECKING:
    from polyseme.compat.allennlp import Elmo, batch_to_ids
    from polyseme.embed.combine import combine
    from polyseme.embed.cove import Cove
    from polyseme.embed.embedder import Embedder
    from polyseme.embed.load import load
    from polyseme.embed.static_vectors import StaticVectors
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.models.bilm import BiLM
    from polyseme.nn.scalar_mix import ScalarMix
    from polyseme.tasks.task import Task
    from polyseme.train.lm.run import train


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'polyseme' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
