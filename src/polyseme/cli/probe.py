"""``polyseme probe``: what each layer of a model knows."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    JsonFlag,
    ModelArgument,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    model_path,
)
from polyseme.cli.progress import counting_tokens


def probe(
    model: ModelArgument,
    train: Annotated[Path, typer.Option(help="CoNLL-U to learn from.", show_default=False)],
    test: Annotated[Path, typer.Option(help="CoNLL-U to measure on.", show_default=False)],
    column: Annotated[
        str,
        typer.Option(
            help="The label: upos, xpos, lemma, feats, deprel, ..., feats:Case, misc:KEY or a column's number."
        ),
    ] = "upos",
    most: Annotated[
        int, typer.Option(min=1, help="Words used of a file; of a larger one, sentences spread evenly over it.")
    ] = 250_000,
    plot: Annotated[Path | None, typer.Option(help="Draw the accuracies into this .png or .svg file.")] = None,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Measure how well a linear classifier reads a word's label from its vector, layer by layer.

    The baseline gives each word the label it has most often in the training file, and a word that is not in it the most
    frequent label. Labels beyond the 1,000 most frequent are not learnt. The training vectors are held in memory: words
    x layers x dimensions x 2 bytes.

    Example: polyseme probe english-model --train train.conllu --test dev.conllu --plot layers.png
    """
    from polyseme import plots
    from polyseme.embed.load import load
    from polyseme.study.probe import probe as measure

    if plot is not None:
        plots.check_path(plot)
    embedder = load(model_path(model, options), precision=precision, device=device)
    begun = time.monotonic()
    with counting_tokens(progress, f"probing {column}") as advance:
        result = measure(embedder, train, test, column, most=most, advance=advance)
    seconds = time.monotonic() - begun
    notes = [*result.repairs]
    if result.sampled:
        notes.append(f"only about {most:,} words of a file were used, spread evenly over it; --most sets how many")
    if result.rare:
        notes.append(
            f"{train}: {result.rare:,} words whose label is not among the {result.labels:,} most frequent were left out"
        )
    if result.unseen:
        notes.append(f"{test}: {result.unseen:,} words whose label was not learnt count as wrong")
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
    if as_json:
        facts = result.facts()
        typer.echo(json.dumps({"column": column, **facts, "seconds": round(seconds, 3)}, ensure_ascii=False))
        return
    typer.echo(f"{'layer':12}{'accuracy':>10}")
    for layer, accuracy in (*result.layers, ("baseline", result.baseline)):
        typer.echo(f"{layer!s:12}{accuracy:10.2%}")
    learnt = f"{result.labels:,} labels learnt from {result.train_words:,} words"
    typer.echo(f"{result.test_words:,} words, {learnt}, {seconds:,.1f} s")
