"""How a long job goes: told to a `Watcher`, drawn on a terminal, in a notebook, as lines or as JSON.

Every long job of the package (embed, index, train, evaluate, probe) takes a ``watcher`` and tells it the stages it goes
through, the share that is done, and figures such as tokens and loss. What becomes of that is the watcher's affair.
"""

from polyseme.progress.opening import PROGRESS, ProgressKind, default_watcher, open_watcher, watching
from polyseme.progress.tokens import TokenCounter
from polyseme.progress.watcher import Figure, Watcher

__all__ = [
    "PROGRESS",
    "Figure",
    "ProgressKind",
    "TokenCounter",
    "Watcher",
    "default_watcher",
    "open_watcher",
    "watching",
]
