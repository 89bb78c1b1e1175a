"""``polyseme senses``: the senses of a word in a text, and how well a model tells senses apart."""

import dataclasses
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
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
from polyseme.cli.progress import counting_tokens

app = typer.Typer(help="Find the senses of a word in a text, or measure how well a model tells senses apart.")


@app.command()
def induce(
    word: Annotated[str, typer.Argument(help="As it is written in the text.", show_default=False)],
    index: Annotated[Path, typer.Option("--index", help="A folder that polyseme index wrote.", show_default=False)],
    senses: Annotated[
        int | None, typer.Option(min=1, help="How many senses; else they are counted, 8 at most.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", min=0, help="How many sentences of each sense.")] = 3,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the occurrences into this .png or .svg file.", show_default=False)
    ] = None,
    model: QueryModel = None,
    options: OptionsFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the senses of a word in a text, each with words that could stand in its place and with typical sentences.

    K-means over at most 2,000 occurrences, spread evenly over the text. There are as many senses as make the silhouette
    stand out most from that of clouds without senses, and one where none stands out. Needs scikit-learn.

    Example: polyseme senses induce play --index news-index
    """
    from polyseme import plots
    from polyseme.index.occurrence_index import OccurrenceIndex
    from polyseme.study.sense_induction import induce_senses
    from polyseme.text.marked import mark

    if plot is not None:
        plots.check_path(plot)
    opened = OccurrenceIndex(index, model=query_model(model, options))
    found = induce_senses(opened, word, senses=senses, examples=k)
    if found.labels == "neighbours":
        typer.echo(
            "polyseme: the model has no softmax, so words of the text that stand nearest label a sense", err=True
        )
    if plot is not None:
        note = plots.occurrence_map(
            plot,
            found.points,
            found.assigned.tolist(),
            names=[", ".join(sense.labels[:3]) or f"sense {number}" for number, sense in enumerate(found.senses, 1)],
            texts=[mark(one.sentence, one.position, around=3) for one in found.occurrences],
            title=f"{len(found.occurrences):,} occurrences of {word}",
        )
        if note:
            typer.echo(f"polyseme: {note}", err=True)
    if as_json:
        facts = {
            "word": found.word,
            "occurrences": len(found.occurrences),
            "silhouette": found.silhouette,
            "by_chance": found.by_chance,
            "labels": found.labels,
            "senses": [
                {**dataclasses.asdict(sense), "examples": [one._asdict() for one in sense.examples]}
                for sense in found.senses
            ],
        }
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    count = len(found.senses)
    told = "" if found.silhouette is None else f", silhouette {found.silhouette:.3f} ({found.by_chance:.3f} by chance)"
    typer.echo(f"{word}: {count} sense{'s' * (count > 1)} in {len(found.occurrences):,} occurrences{told}")
    for number, sense in enumerate(found.senses, 1):
        typer.echo(f"\n{number}. {sense.share:.0%} ({sense.occurrences:,}): {', '.join(sense.labels)}")
        for one in sense.examples:
            typer.echo(f"   {one.similarity:.3f}  {mark(one.sentence, one.position)}")


@app.command()
def evaluate(
    train: Annotated[
        list[Path], typer.Option("--train", help="Tagged text to learn from; may be given again.", show_default=False)
    ],
    test: Annotated[
        list[Path], typer.Option("--test", help="Tagged text to test on; may be given again.", show_default=False)
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
) -> None:
    """Measure how well each layer tells senses apart: the nearest average vector of a sense, by cosine.

    Tagged text is JSON lines, also gzipped, of any language: {"tokens": ["The", "art", "of", ...], "senses": [[1, 1,
    "art", "NN", ["art%1:06:00::"]], ...]}, where a sense is start, length, lemma, part of speech and the keys that are
    right. Keys may be any strings, the same in both texts; U says that no sense fits, and such words do not count.

    Beside the layers stand the most frequent sense in training and, with --sense-index, WordNet's first sense. A lemma
    that is not in the training text gets its first sense; without --sense-index that is not known, as a key does not
    tell it, and the word counts as wrong. Every word counts, so that accuracy is F1.

    Example: polyseme senses evaluate --train semcor.jsonl.gz --test senseval2.jsonl.gz -m english-model
    """
    from polyseme.embed.load import load
    from polyseme.study.sense_evaluation import evaluate_senses

    embedder = load(model_path(model, options), precision=precision, device=device)
    begun = time.monotonic()
    with counting_tokens(progress, "learning senses") as advance:
        found = evaluate_senses(embedder, train, test, sense_index=sense_index, advance=advance)
    seconds = time.monotonic() - begun
    if as_json:
        typer.echo(json.dumps({**dataclasses.asdict(found), "seconds": round(seconds, 3)}))
        return
    for layer, accuracy in found.layers.items():
        typer.echo(f"{'layer ' + layer if layer != 'mean' else 'mean of layers':20}{accuracy:7.2%}")
    typer.echo(f"{'most frequent sense':20}{found.most_frequent:7.2%}")
    if found.first_sense is not None:
        typer.echo(f"{'first sense':20}{found.first_sense:7.2%}")
    typer.echo(
        f"{found.instances:,} words, {found.left_out:,} without a sense left out; {found.backed_off:.1%} not in the "
        f"training text, {found.unanswered:.1%} without an answer; learnt from {found.trained:,}, {seconds:,.1f} s",
        err=True,
    )
