"""``polyseme change``: how much words differ between two texts."""

import json
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    TokenizeOption,
    follow_model,
    model_path,
    open_corpus,
)
from polyseme.cli.columns import padded
from polyseme.cli.progress import counting_tokens
from polyseme.errors import InputError


def change(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD... OLD NEW",
            help="Words, then two texts (files or folders) or two index folders.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A model of any known format, for texts.", show_default=False)
    ] = None,
    layers: Annotated[
        str, typer.Option(help="Which vector of an occurrence, for texts: top, mean or a layer's number.")
    ] = "top",
    least: Annotated[
        int, typer.Option(min=1, help="Without words, all that stand so often in both (10,000 at most).")
    ] = 10,
    most: Annotated[
        int, typer.Option(min=1, help="Occurrences of a word to embed in each text, spread evenly.")
    ] = 1000,
    k: Annotated[int, typer.Option("-k", min=1, help="How many words to print.")] = 50,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the most changed words into this .png or .svg file.", show_default=False)
    ] = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Print how much words differ in use between two texts, the most changed first.

    APD is the average distance (1 - cosine) of an old from a new occurrence, PRT the distance of their averages; words
    are taken in any letter case. Of an index all occurrences count, as they were embedded.

    Example: polyseme change plane cell gay 1900.txt 2000.txt -m english-small
    """
    from polyseme import plots
    from polyseme.index.build import MANIFEST
    from polyseme.study.change import change_of_indexes, change_of_texts

    if len(arguments) < 2:
        raise InputError("give two texts or two indexes after the words: polyseme change WORD... OLD NEW")
    *words, old, new = arguments
    if plot is not None:
        plots.check_path(plot)
    notes: list[str] = []
    indexes = [(Path(place) / MANIFEST).is_file() for place in (old, new)]
    if all(indexes):
        for_texts = {
            "--model": model,
            "--options": options,
            "--tokenize": None if tokenize == "auto" else tokenize,
            "--dictionary": dictionary,
        }
        if given := [name for name, value in for_texts.items() if value is not None]:
            raise InputError(f"{given[0]} is for texts, and {old} and {new} are indexes; leave it out")
        found = change_of_indexes(Path(old), Path(new), words=words, least=least)
    elif any(indexes):
        raise InputError(f"{old} and {new}: one is an index and the other is not; give two indexes, or two texts")
    else:
        from polyseme.embed.layers import parse_choice
        from polyseme.embed.load import load

        if model is None:
            raise InputError("texts need a model to embed them with; give one with -m, or two indexes")
        texts = [open_corpus([text], reader, tokenize, dictionary) for text in (old, new)]
        embedder = load(model_path(model, options), precision=precision, device=device)
        follow_model(embedder.segmentation, *texts)
        with counting_tokens(progress, f"embedding {old} and {new}") as advance:
            found = change_of_texts(
                embedder, *texts, words=words, least=least, most=most, layers=parse_choice(layers), advance=advance
            )
        notes += [f"{text}: {text.repairs}" for text in texts if text.repairs]
    if missing := {word.casefold() for word in words} - {one.word for one in found}:
        notes.append(f"not in both texts: {', '.join(sorted(missing))}")
    if plot is not None:
        title = f"Change from {Path(old).name} to {Path(new).name}"
        drawn = plots.change_chart(plot, [(one.word, one.apd) for one in found], title=title)
        notes += [drawn] if drawn else []
    for note in notes:
        typer.echo(f"polyseme: {note}", err=True)
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in found[:k]], ensure_ascii=False))
        return
    typer.echo(f"{'word':24}{'APD':>8}{'PRT':>8}{'old':>9}{'new':>9}")
    for one in found[:k]:
        typer.echo(f"{padded(one.word, 24)}{one.apd:8.4f}{one.prt:8.4f}{one.old:9,}{one.new:9,}")
