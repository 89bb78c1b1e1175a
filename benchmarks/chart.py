"""The chart in the README, drawn from the figures of a run."""

from statistics import median
from typing import Any

import matplotlib.pyplot as plt

from benchmarks.models import SIZES
from benchmarks.process import PRECISIONS, ROOT
from benchmarks.report import ratio, speed

TARGET = ROOT / "docs/throughput.png"
THEIRS, OURS, INK = "#b5b9bf", ("#8fb8de", "#3d86c6", "#0b4f8a"), "#22272e"


def draw(results: dict[str, Any]) -> None:
    """Write docs/throughput.png: tokens per second, with one panel per model size."""
    sizes = [name for name in SIZES if name in results]
    plt.switch_backend("Agg")  # no window
    figure, panels = plt.subplots(1, len(sizes), figsize=(5 * len(sizes), 2.7), squeeze=False)
    for panel, name in zip(panels[0], sizes, strict=True):
        size = results[name]
        bars = [
            (f"AllenNLP, {label}", median(size["allennlp"]["speed"][order]), THEIRS, "")
            for order, label in (("input", "input order"), ("sorted", "sorted"))
        ]
        bars += [
            (f"polyseme {precision}", speed(size, precision), colour, f"  ({ratio(size, precision, 'sorted'):.1f}x)")
            for precision, colour in zip(PRECISIONS, OURS, strict=True)
        ]
        labels, values, colours, notes = zip(*bars, strict=True)
        drawn = panel.barh(labels, values, color=colours, height=0.72)
        texts = [f"{value:,.0f}{note}" for value, note in zip(values, notes, strict=True)]
        panel.bar_label(drawn, labels=texts, padding=4, fontsize=8.5, color=INK)
        panel.invert_yaxis()
        panel.set_xlim(0, 1.32 * max(values))
        panel.set_title(f"{name}: {size['parameters'] / 1e6:.1f}M parameters", fontsize=10, color=INK, loc="left")
        panel.set_xlabel("tokens a second (times AllenNLP sorted)", fontsize=8.5, color=INK)
        panel.tick_params(length=0, labelsize=8.5, labelcolor=INK)
        panel.xaxis.set_ticks([])
        panel.spines[["top", "right", "bottom"]].set_visible(False)
    machine = f"{results['machine']['cores']} cores, {results['machine']['processor']}"
    figure.text(0.995, 0.01, machine, ha="right", fontsize=7, color="#6a737d")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(TARGET, dpi=160)
    plt.close(figure)
