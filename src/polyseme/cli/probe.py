"""``polyseme probe``: what each layer of a model knows."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DeviceOption,
    JsonFlag,
    ModelArgument,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    VectorsFile,
    model_path,
)
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Table, form_of, print_results

if TYPE_CHECKING:
    from polyseme.study.probe import ProbeResult


def probe(
    model: ModelArgument,
    train: Annotated[Path, typer.Option(help="CoNLL-U to learn from.", show_default=False)],
    test: Annotated[Path, typer.Option(help="CoNLL-U to measure on.", show_default=False)],
    column: Annotated[
        str,
        typer.Option(
            help="The label: upos, xpos, lemma, feats, deprel, ..., feats:Case, misc:KEY or the number of a column."
        ),
    ] = "upos",
    most: Annotated[
        int, typer.Option(min=1, help="Words used of a file; of a larger one, sentences spread evenly over it.")
    ] = 250_000,
    plot: Annotated[Path | None, typer.Option(help="Draw the accuracies into this .png or .svg file.")] = None,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Measure how well a linear classifier reads a word's label from its vector, layer by layer.

    The baseline gives each word the label it has most often in the training file, and a word that is not in it the most
    frequent label. Labels beyond the 1,000 most frequent are not learnt. The training vectors are held in memory: words
    x layers x dimensions x 2 bytes.

    Example: polyseme probe english-small --train train.conllu --test dev.conllu --plot layers.png
    """
    from polyseme import plots
    from polyseme.embed.load import load
    from polyseme.study.probe import probe as measure

    form = form_of(as_json, as_csv)
    if plot is not None:
        plots.check_path(plot)
    embedder = load(model_path(model, options, vectors), precision=precision, device=device)
    begun = time.monotonic()
    with shown(progress) as watcher:
        result = measure(embedder, train, test, column, most=most, watcher=watcher)
    seconds = time.monotonic() - begun
    notes = _notes(result, train, test, most)
    if plot is not None:
        drawn = plots.probe_chart(
            plot,
            {str(one.layer): one.accuracy for one in result.layers},
            result.baseline,
            baseline_name=f"most frequent {column} of each word",
            title=f"{column} read from each layer",
        )
        notes += [drawn] if drawn else []
    for note in notes:
        typer.echo(f"polyseme: {note}", err=True)
    facts = {"model": model, "column": column, **result.to_dict(), "seconds": seconds}
    del facts["layers"], facts["baseline"]
    rows = [one.to_dict() for one in result.layers] + [{"layer": "baseline", "accuracy": result.baseline}]
    columns = (Column("layer", 12), Column("accuracy", 10, ".2%"))
    print_results(form, "probe", facts, Table(columns, rows))
    if form == "text":
        learnt = f"{result.labels:,} labels learnt from {result.train_words:,} words"
        typer.echo(f"{result.test_words:,} words, {learnt}, {seconds:,.1f} s")


def _notes(result: "ProbeResult", train: Path, test: Path, most: int) -> list[str]:
    """Lines that a user should know about the figures."""
    notes = [*result.repairs]
    if result.sampled:
        notes.append(f"only about {most:,} words of a file were used, spread evenly over it; --most sets how many")
    if result.rare:
        notes.append(
            f"{train}: {result.rare:,} words whose label is not among the {result.labels:,} most frequent were left out"
        )
    if result.unseen:
        notes.append(f"{test}: {result.unseen:,} words whose label was not learnt count as wrong")
    return notes
