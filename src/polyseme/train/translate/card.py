"""The card of a translator: what it learnt from, how, how well it translates, and what its translations look like."""

from pathlib import Path

from polyseme.files.whole import JSON, write_text
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.translate.evaluate import FinalFigures
from polyseme.train.translate.pair_store import PairStore
from polyseme.train.translate.settings import GROUPS, TranslateSettings

_USE = """Translate lines of text:

    polyseme cove translate path/to/this/folder text.txt --beam 4

The encoder alone gives CoVe vectors:

```python
import polyseme

source = polyseme.load('path/to/this/folder/cove')
vectors = source.embed([['The', 'river', 'bank']])
```
"""


def write_card(
    path: Path,
    store: PairStore,
    settings: TranslateSettings,
    progress: Progress,
    softmax: str,
    final: FinalFigures | None,
) -> None:
    """Write the card of a run; ``final`` is None as long as it lasts."""
    pairs, training = len(store.training), store.training
    known = float((training.source >= 0).mean())
    cuts = " and ".join(f"`{cut}` ({side} side)" for side, cut in (("source", store.source), ("target", store.target)))
    lines = ["# A translator trained with polyseme", "", *_figures(progress), *_final(final)]
    lines += [
        f"Trained on {pairs:,} pairs ({len(training.source):,} source and {len(training.target):,} target tokens), "
        f"{progress.update:,} updates, {progress.elapsed:,.0f} s, {softmax} softmax over {len(store.vocabulary):,} "
        f"words. The encoder reads static vectors of width {store.table.dim}; {known:.1%} of the source tokens have "
        "one. No held-out sentence of either side is among the training pairs unless held-out files were given.",
        "",
        f"Text is tokenised by {cuts}.",
        "",
        "Data and licence: say here what the text was.",
        "",
    ]
    values = settings.model_dump(mode="json")
    for group, names in GROUPS.items():
        lines += [f"{group}:", "", *(f"- {name}: {values[name]}" for name in names), ""]
    write_text(path, "\n".join([*lines, _USE]))


def _figures(progress: Progress) -> list[str]:
    """The best evaluation in words."""
    heldout = [record for record in progress.records if record["kind"] == "heldout"]
    if not heldout:
        return []
    best = min(heldout, key=lambda record: _number(record["perplexity"]))
    return [
        f"Held-out perplexity {_number(best['perplexity']):.2f} (full softmax, {best['heldout_pairs']:,} pairs) after "
        f"update {best['update']:,}; BLEU of the greedy translations of {best['bleu_pairs']:,} of them then: "
        f"{_number(best['bleu']):.1f}.",
        "",
    ]


def _final(final: FinalFigures | None) -> list[str]:
    if final is None:
        return []
    lines = [
        f"BLEU on all {final.pairs:,} held-out pairs, detokenised: {final.greedy.score:.2f} greedy, "
        f"{final.beam.score:.2f} with a beam of {final.width} ({final.greedy.signature}).",
        "",
        "| source | reference | translation |",
        "|---|---|---|",
    ]
    cells = ((one.source, one.reference, one.translation) for one in final.samples)
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    return [*lines, ""]


def _number(value: JSON) -> float:
    assert isinstance(value, int | float)
    return float(value)
