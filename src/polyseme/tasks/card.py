"""The card of a task model: what it learnt from, how, and how good it is."""

from pathlib import Path

from polyseme.files.whole import write_text
from polyseme.tasks.blueprint import Blueprint
from polyseme.tasks.model import Ex
from polyseme.tasks.settings import GROUPS
from polyseme.train.engine.checkpoint import Progress

_EXAMPLE = """```python
import polyseme

task = polyseme.Task.load('path/to/this/folder')
task.predict('Some raw text.')
```
"""


def write_card(path: Path, blueprint: Blueprint[Ex], counts: tuple[int, int], progress: Progress) -> None:
    """Write the card of a run.

    Args:
        path: The file.
        blueprint: Of the model.
        counts: Examples that it learnt from, and held-out ones.
        progress: How far the run has come.
    """
    kind, settings = blueprint.kind, blueprint.settings
    sources = [one.record() for one in blueprint.sources]
    lines = [
        f"# A model for the task `{kind.name}`, trained with polyseme",
        "",
        *([] if progress.best is None else [f"Held-out {kind.metric}: {progress.best:.2f}.", ""]),
        f"Trained on {counts[0]:,} {kind.unit}, {counts[1]:,} held out; {progress.update:,} updates, "
        f"{progress.elapsed:,.0f} s.",
        "",
        "Vectors: " + (", ".join(f"`{one.path}`" for one in sources) or "learnt with the task alone") + ".",
        "",
        f"Raw text is tokenised by `{blueprint.segmentation}`.",
        "",
        "Data and licence: say here what the data was.",
        "",
    ]
    values = settings.model_dump(mode="json")
    for group, names in GROUPS.items():
        lines += [f"{group}:", "", *(f"- {name}: {values[name]}" for name in names), ""]
    write_text(path, "\n".join([*lines, _EXAMPLE]))
