"""The card of a model that was trained here: what it learnt from, how, and how well it predicts."""

from collections.abc import Mapping
from pathlib import Path

from polyseme.files.whole import JSON, write_text
from polyseme.models.model import Model
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.lm.settings import GROUPS, LmSettings

_EXAMPLE = """```python
import polyseme

embedder = polyseme.load('path/to/this/folder')
vectors = embedder.embed([['The', 'river', 'bank']])
```
"""


def write_card(
    path: Path,
    model: Model,
    sizes: Mapping[str, int | float],
    settings: LmSettings,
    progress: Progress,
    *,
    softmax: str,
    vectors: str | None = None,
) -> None:
    """Write the card of a run; ``vectors`` names the static vectors that it began with."""
    cut = model.segmentation
    lines = ["# A biLM trained with polyseme", "", *_figures(sizes, progress)]
    lines += [
        f"Trained on {sizes['training_tokens']:,} tokens in {sizes['training_sentences']:,} sentences "
        f"({sizes['types']:,} distinct words), {progress.update:,} updates, {progress.elapsed:,.0f} s, "
        f"{softmax} softmax.",
        "",
        f"The text was tokenised by `{cut}`; other text is tokenised in the same way."
        if cut.tokenizer
        else "The text came tokenised; other text must be tokenised in the same way.",
        "",
        *([f"It began with the static vectors `{vectors}`.", ""] if vectors else []),
        "Data and licence: say here what the text was.",
        "",
    ]
    values = settings.model_dump(mode="json")
    for group, names in GROUPS.items():
        lines += [f"{group}:", "", *(f"- {name}: {values[name]}" for name in names), ""]
    write_text(path, "\n".join([*lines, _EXAMPLE]))


def _figures(sizes: Mapping[str, int | float], progress: Progress) -> list[str]:
    """The best evaluation in words."""
    heldout = [record for record in progress.records if record["kind"] == "heldout"]
    if not heldout:
        return []
    best = min(heldout, key=lambda record: _number(record["average"]))
    forward, backward, average, known, unknown, tokens = (
        _number(best[name])
        for name in ("forward", "backward", "average", "average_known", "unknown_share", "heldout_tokens")
    )
    return [
        f"Held-out perplexity (full softmax over {sizes['vocabulary']:,} words, {tokens:,.0f} tokens): "
        f"forward {forward:.2f}, backward {backward:.2f}, average {average:.2f}; without unknown words {known:.2f}. "
        f"Unknown words: {unknown:.2%}.",
        "",
    ]


def _number(value: JSON) -> float:
    assert isinstance(value, int | float)
    return float(value)
