"""The model folder that a run leaves behind, usable from the first held-out figure on."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from polyseme.errors import OutputError
from polyseme.formats import native
from polyseme.models.model import Model
from polyseme.text.segmentation import Segmentation
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.records import CURVE, METRICS, draw_curve, write_records
from polyseme.train.lm.settings import Settings


def publish(
    model: Model, output: Path, facts: Mapping[str, int | float], settings: Settings, progress: Progress, kind: str
) -> None:
    """Write the model folder, or put the present weights into it; at no moment is it half written."""
    if not output.exists():
        native.write(model, output)
    else:
        # Between two of these only the weights differ, and one file can be replaced in one go.
        with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.absolute().parent) as place:
            native.write(model, Path(place) / "model")
            try:
                (Path(place) / "model" / native.WEIGHTS).replace(output / native.WEIGHTS)
            except OSError as error:
                raise OutputError(f"{output}: the weights could not be replaced ({error.strerror})") from error
    refresh(model, output, facts, settings, progress, kind)


def refresh(
    model: Model, output: Path, facts: Mapping[str, int | float], settings: Settings, progress: Progress, kind: str
) -> None:
    """Bring the card, the metrics and the learning curve up to date."""
    write_records(output / METRICS, progress.records)
    draw_curve(output / CURVE, progress.records)
    card = output / f"{native.CARD}.partial"
    card.write_text(_card(facts, settings, progress, kind, model.config.segmentation), encoding="utf-8")
    card.replace(output / native.CARD)


def _card(
    facts: Mapping[str, int | float], settings: Settings, progress: Progress, kind: str, cut: Segmentation
) -> str:
    heldout = [record for record in progress.records if record["kind"] == "heldout"]
    best = min(heldout, key=lambda record: float(record["average"])) if heldout else None
    lines = ["# A biLM trained with polyseme", ""]
    if best:
        lines += [
            f"Held-out perplexity (full softmax over {facts['vocabulary']:,} words, "
            f"{best['heldout_tokens']:,} tokens): forward {best['forward']:.2f}, backward {best['backward']:.2f}, "
            f"average {best['average']:.2f}; "
            f"without unknown words {best['average_known']:.2f}. Unknown words: {best['unknown_share']:.2%}.",
            "",
        ]
    lines += [
        f"Trained on {facts['training_tokens']:,} tokens in {facts['training_sentences']:,} sentences "
        f"({facts['types']:,} distinct words), {progress.update:,} updates, {progress.elapsed:,.0f} s, "
        f"{kind} softmax.",
        "",
        f"The text was cut into tokens by `{cut}`; other text is cut in the same way."
        if cut.tokenizer
        else "The text came in tokens; other text must be cut in the same way.",
        "",
        "Data and licence: say here what the text was.",
        "",
        "Settings:",
        "",
        *(f"- {name}: {value}" for name, value in settings.model_dump(mode="json").items()),
        "",
        "```python",
        "import polyseme",
        "",
        "embedder = polyseme.load('path/to/this/folder')",
        "vectors = embedder.embed([['The', 'river', 'bank']])",
        "```",
        "",
    ]
    return "\n".join(lines)
