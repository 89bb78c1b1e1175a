"""Progress of a long job: reported to a `Watcher`, which shows it on a terminal, in a notebook, as lines or as JSON.

Every long job of the package (embed, index, train, evaluate, probe) takes a ``watcher`` and reports to it the stages of
the job, the share that is done, and figures such as tokens and loss. How that is shown is up to the watcher.
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
