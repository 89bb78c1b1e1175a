"""Embedding on many machines, with Ray: `embed` for a Ray Dataset, `EmbedJob` for files of text.

Needs the extra ``scale``: ``pip install 'polyseme[scale]'``. How to use it: docs/scale.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from polyseme.scale.settings import ScaleSettings

if TYPE_CHECKING:
    from polyseme.scale.dataset import embed
    from polyseme.scale.job import EmbedJob
    from polyseme.scale.report import ScaleResult

__all__ = ["EmbedJob", "ScaleResult", "ScaleSettings", "embed"]

# Imported when first used: commands read the settings, and must not wait for torch.
_HOMES = {"EmbedJob": "job", "ScaleResult": "report", "embed": "dataset"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'polyseme.scale' has no attribute {name!r}; it offers {', '.join(__all__)}")
    if name in ("EmbedJob", "embed"):
        import_module("polyseme.scale.engine").ray_module()  # or say in one line that it is missing
    return getattr(import_module(f"polyseme.scale.{_HOMES[name]}"), name)
