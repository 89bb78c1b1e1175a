"""``polyseme senses``: the senses of a word in a text, and how well a model tells senses apart."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
    DeviceOption,
    JsonFlag,
    ModelOption,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    model_path,
    query_model,
)
from polyseme.cli.index import QueryModel
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Table, form_of, print_results

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.study.sense_induction import Senses

app = typer.Typer(help="Find the senses of a word in a text, or measure how well a model tells senses apart.")


@app.command()
def induce(
    word: Annotated[str, typer.Argument(help="As it is written in the text.", show_default=False)],
    index: Annotated[Path, typer.Option("--index", help="A folder written by polyseme index.", show_default=False)],
    senses: Annotated[
        int | None,
        typer.Option(min=1, help="How many senses; by default the number is found, 8 at most.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=0, help="How many sentences per sense.")] = 3,
    plot: Annotated[Path | None, typer.Option(help="Draw the occurrences into this .png or .svg file.")] = None,
    model: QueryModel = None,
    options: OptionsFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Find the senses of a word in a text, each with words that could replace it and with typical sentences.

    K-means over at most 2,000 occurrences, spread evenly over the text. The number of senses is the one whose
    silhouette is furthest above that of random clouds without senses; if none is above, there is one sense. Needs
    scikit-learn.

    Example: polyseme senses induce play --index news-index
    """
    from polyseme import plots
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.study.sense_induction import induce_senses

    form = form_of(as_json, as_csv)
    if plot is not None:
        plots.check_path(plot)
    opened = OccurrenceIndex(index, model=query_model(model, options))
    found = induce_senses(opened, word, senses=senses, examples=k)
    if found.labels == "neighbours":
        typer.echo("polyseme: the model has no softmax; senses are labelled by the nearest words of the text", err=True)
    if plot is not None:
        _draw(found, plot)
    if form == "text":
        _print_senses(found)
    else:
        print_results(form, "senses induce", *_as_table(found, index))


def _as_table(found: "Senses", index: Path) -> "tuple[dict[str, JSON], Table]":
    """What JSON and CSV say about the senses of a word."""
    facts = {"index": str(index), **found.to_dict()}
    rows = [{"sense": number, **sense.to_dict()} for number, sense in enumerate(found.senses, 1)]
    del facts["senses"]
    return facts, Table([Column(name) for name in ("sense", "share", "occurrences", "labels")], rows)


def _draw(found: "Senses", path: Path) -> None:
    from polyseme import plots
    from polyseme.text.marked import mark

    note = plots.occurrence_map(
        path,
        found.points,
        found.assigned.tolist(),
        names=[", ".join(sense.labels[:3]) or f"sense {number}" for number, sense in enumerate(found.senses, 1)],
        texts=[mark(one.sentence, one.position, around=3) for one in found.occurrences],
        title=f"{len(found.occurrences):,} occurrences of {found.word}",
    )
    if note:
        typer.echo(f"polyseme: {note}", err=True)


def _print_senses(found: "Senses") -> None:
    from polyseme.text.marked import mark

    count = len(found.senses)
    told = "" if found.silhouette is None else f", silhouette {found.silhouette:.3f} ({found.by_chance:.3f} by chance)"
    typer.echo(f"{found.word}: {count} sense{'s' * (count > 1)} in {len(found.occurrences):,} occurrences{told}")
    for number, sense in enumerate(found.senses, 1):
        typer.echo(f"\n{number}. {sense.share:.0%} ({sense.occurrences:,}): {', '.join(sense.labels)}")
        for one in sense.examples:
            typer.echo(f"   {one.similarity:.3f}  {mark(one.sentence, one.position)}")


@app.command()
def evaluate(
    train: Annotated[
        list[Path], typer.Option("--train", help="Tagged text to learn from; may be repeated.", show_default=False)
    ],
    test: Annotated[
        list[Path], typer.Option("--test", help="Tagged text to test on; may be repeated.", show_default=False)
    ],
    model: ModelOption,
    sense_index: Annotated[
        Path | None,
        typer.Option("--sense-index", help="WordNet's index.sense, for its first senses.", show_default=False),
    ] = None,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Measure how well each layer tells senses apart: the nearest average vector of a sense, by cosine.

    Tagged text is JSON lines, also gzipped, of any language: {"tokens": ["The", "art", "of", ...], "senses": [[1, 1,
    "art", "NN", ["art%1:06:00::"]], ...]}, where a sense is start, length, lemma, part of speech and the keys that are
    right. Keys may be any strings, the same in both texts; U says that no sense fits, and such words do not count.

    The layers are compared with the most frequent sense in training and, with --sense-index, with WordNet's first
    sense. A lemma that is not in the training text gets its first sense; without --sense-index that is not known, and
    the word counts as wrong. Every word counts, so accuracy is F1.

    Example: polyseme senses evaluate --train semcor.jsonl.gz --test senseval2.jsonl.gz -m english-small
    """
    from polyseme.embed.load import load
    from polyseme.study.sense_evaluation import evaluate_senses

    form = form_of(as_json, as_csv)
    embedder = load(model_path(model, options), precision=precision, device=device)
    begun = time.monotonic()
    with shown(progress) as watcher:
        found = evaluate_senses(embedder, train, test, sense_index=sense_index, watcher=watcher)
    seconds = time.monotonic() - begun
    facts = found.to_dict()
    del facts["layers"]
    most_frequent, first_sense = facts.pop("most_frequent"), facts.pop("first_sense")
    accuracies = {
        **{"mean of layers" if name == "mean" else f"layer {name}": share for name, share in found.layers.items()},
        "most frequent sense": most_frequent,
        **({} if first_sense is None else {"first sense": first_sense}),
    }
    columns = (Column("by", 20), Column("accuracy", 10, ".2%"))
    rows = [{"by": name, "accuracy": share} for name, share in accuracies.items()]
    print_results(form, "senses evaluate", {"model": model, **facts, "seconds": seconds}, Table(columns, rows))
    if form == "text":
        typer.echo(
            f"{found.instances:,} words, {found.left_out:,} without a sense left out; {found.backed_off:.1%} not in "
            f"the training text, {found.unanswered:.1%} without an answer; learnt from {found.trained:,}, "
            f"{seconds:,.1f} s",
            err=True,
        )
