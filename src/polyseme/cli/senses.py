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
    VectorsFile,
    model_path,
    query_model,
)
from polyseme.cli.index import IndexOption, QueryModel, WhitenFlag
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Form, Table, form_of, print_results
from polyseme.errors import InputError
from polyseme.progress.figures import counted

if TYPE_CHECKING:
    from polyseme.files.whole import JSON
    from polyseme.study.sense_controls import ControlSenses
    from polyseme.study.sense_induction import Senses
    from polyseme.study.sense_scores import SenseAccuracy

_SCORES = (
    Column("by", 26),
    Column("method", 12),
    Column("accuracy", 9, ".2%"),
    Column("low", 9, ".2%"),
    Column("high", 9, ".2%"),
    Column("difference", 12, "+.2%"),
    Column("difference_low", 9, "+.2%", "low"),
    Column("difference_high", 9, "+.2%", "high"),
)
"""What people are shown of a score."""

app = typer.Typer(
    no_args_is_help=True,
    help="Find the senses of a word in a text, or measure how well a model tells senses apart.",
)


HowManySenses = Annotated[
    int | None,
    typer.Option(min=1, help="How many senses; by default the number is found, 8 at most.", show_default=False),
]


SentencesFlag = Annotated[
    bool,
    typer.Option("--sentences", help="With --csv or --json: a row per occurrence, with its sense and sentence."),
]
HowManyControls = Annotated[
    int, typer.Option(min=0, help="Count the senses of so many words that are as frequent, to compare with.")
]


@app.command()
def induce(
    word: Annotated[str, typer.Argument(help="As it is written in the text.", show_default=False)],
    index: IndexOption,
    senses: HowManySenses = None,
    k: Annotated[int, typer.Option("-k", min=0, help="How many sentences per sense.")] = 3,
    whiten: WhitenFlag = False,
    sentences: SentencesFlag = False,
    controls: HowManyControls = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the occurrences into this .png or .svg file.")] = None,
    model: QueryModel = None,
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Find the senses of a word in a text, each with words that could replace it and with typical sentences.

    K-means over at most 2,000 occurrences. The number of senses is the one whose silhouette is furthest above that of
    random clouds without senses; if none is above, there is one sense. Needs scikit-learn.

    Example: polyseme senses induce play --index news-index
    """
    from polyseme import plots
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.study.sense_controls import senses_of_controls
    from polyseme.study.sense_induction import induce_senses

    form = form_of(as_json, as_csv)
    if sentences and form == "text":
        raise InputError("--sentences gives a long table; give --csv or --json with it")
    if plot is not None:
        plots.check_path(plot)
    opened = OccurrenceIndex(index, model=query_model(model, options, vectors))
    found = induce_senses(opened, word, senses=senses, examples=k, whiten=whiten)
    if found.labels == "neighbours":
        typer.echo("polyseme: the model has no softmax; senses are labelled by the nearest words of the text", err=True)
    if plot is not None:
        _draw(found, plot)
    facts, table = _as_table(found, opened.name, sentences=sentences, whitened=whiten)
    _print_induced(form, found, senses_of_controls(opened, word, controls), facts, table)


def _print_induced(
    form: Form, found: "Senses", beside: "list[ControlSenses]", facts: "dict[str, JSON]", table: Table
) -> None:
    if form == "text":
        _print_senses(found)
        _print_controls(beside)
        return
    print_results(form, "senses induce", {**facts, "controls": [one.to_dict() for one in beside]}, table)


def _as_table(found: "Senses", index: str, *, sentences: bool, whitened: bool) -> "tuple[dict[str, JSON], Table]":
    """What JSON and CSV say about the senses of a word."""
    facts = {"index": index, "whitened": whitened, **found.to_dict()}
    if sentences:
        columns = ("sense", "similarity", "word", "sentence", "position", "file", "line", "document", "name", "label")
        return facts, Table([Column(name) for name in columns], found.rows())
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
    typer.echo(f"{found.word}: {counted(count, 'sense')} in {counted(len(found.occurrences), 'occurrence')}{told}")
    for number, sense in enumerate(found.senses, 1):
        typer.echo(f"\n{number}. {sense.share:.0%} ({sense.occurrences:,}): {', '.join(sense.labels)}")
        for one in sense.examples:
            typer.echo(f"   {one.similarity:.3f}  {mark(one.sentence, one.position)}")


def _print_controls(found: "list[ControlSenses]") -> None:
    if not found:
        return
    columns = (
        Column("word", title="control word"),
        Column("occurrences", 12, ","),
        Column("senses", 8, ","),
        Column("silhouette", 12, ".3f"),
        Column("by_chance", 12, ".3f", title="by chance"),
    )
    typer.echo("")
    for line in Table(columns, [one.to_dict() for one in found]).lines():
        typer.echo(line)


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
    k: Annotated[int, typer.Option("-k", min=1, help="How many nearest neighbours vote.")] = 5,
    whiten: Annotated[
        bool, typer.Option("--whiten/--no-whiten", help="Also with layers whitened by the spread within lemmas.")
    ] = True,
    choose_layer: Annotated[
        bool,
        typer.Option("--choose-layer", help="Choose layers on every tenth training sentence, held out for this."),
    ] = False,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Measure how well each layer tells senses apart: by the nearest average vector of a sense, and by neighbours.

    Tagged text is JSON lines, also gzipped, of any language: {"tokens": ["The", "art", "of", ...], "senses": [[1, 1,
    "art", "NN", ["art%1:06:00::"]], ...]}, where a sense is start, length, lemma, part of speech and the keys that are
    right. Keys may be any strings, the same in both texts; U says that no sense fits, and such words do not count.

    The layers are compared with the most frequent sense in training and, with --sense-index, with WordNet's first
    sense. A lemma that is not in the training text gets its first sense, whatever the method; without --sense-index
    that is not known, and the word counts as wrong. Every word counts, so accuracy is F1. Intervals are of 95%, by
    drawing the test words again; differences are to the most frequent sense.

    Example: polyseme senses evaluate --train semcor.jsonl.gz --test senseval2.jsonl.gz -m english-small
    """
    from polyseme.embed.load import load
    from polyseme.study.sense_evaluation import evaluate_senses

    form = form_of(as_json, as_csv)
    embedder = load(model_path(model, options, vectors), precision=precision, device=device)
    begun = time.monotonic()
    with shown(progress) as watcher:
        found = evaluate_senses(
            embedder,
            train,
            test,
            sense_index=sense_index,
            k=k,
            whiten=whiten,
            choose_layer=choose_layer,
            watcher=watcher,
        )
    _print_scores(form, model, found, time.monotonic() - begun)


def _print_scores(form: Form, model: str, found: "SenseAccuracy", seconds: float) -> None:
    rows = [score.to_dict() for score in found.scores]
    facts = {"model": model, **found.to_dict(), "seconds": seconds}
    del facts["scores"]
    if form != "text":
        print_results(form, "senses evaluate", facts, Table([Column(name) for name in rows[0]], rows))
        return
    for row in rows:
        row["picked"] = "  chosen" if row["chosen"] else ""
    held_out = (Column("held_out", 10, ".2%", "held out"), Column("picked", 8, title=""))
    print_results(form, "senses evaluate", facts, Table(_SCORES + held_out * any(row["chosen"] for row in rows), rows))
    typer.echo(
        f"{found.instances:,} words, {found.left_out:,} without a sense left out; {found.backed_off:.1%} not in the "
        f"training text, {found.unanswered:.1%} without an answer; learnt from {found.trained:,}, {found.neighbours} "
        f"neighbours, {seconds:,.1f} s",
        err=True,
    )
