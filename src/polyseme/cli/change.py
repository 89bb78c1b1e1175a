"""``polyseme change``: how much words differ between two texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    CsvFlag,
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
from polyseme.cli.progress import shown
from polyseme.cli.tables import Column, Table, form_of, print_results
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme.study.change import Change

COLUMNS = (
    Column("word"),
    Column("apd", 8, ".4f", title="APD"),
    Column("prt", 8, ".4f", title="PRT"),
    Column("old", 9, ","),
    Column("new", 9, ","),
)


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
        str, typer.Option(help="Which vector of an occurrence, for texts: top, mean or the number of a layer.")
    ] = "top",
    least: Annotated[
        int, typer.Option(min=1, help="Without words, all that occur at least this often in both (10,000 at most).")
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
    as_csv: CsvFlag = False,
) -> None:
    """Print how much words differ in use between two texts, the most changed first.

    APD is the average distance (1 - cosine) between an old and a new occurrence, PRT the distance between their
    averages; letter case does not count. With indexes, all occurrences are compared, as they were embedded.

    Example: polyseme change plane cell gay 1900.txt 2000.txt -m english-small
    """
    from polyseme import plots
    from polyseme.embed.layers import parse_choice
    from polyseme.index.manifest import MANIFEST
    from polyseme.study.change import change_of_indexes, change_of_texts

    form = form_of(as_json, as_csv)
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
        from polyseme.embed.load import load

        if model is None:
            raise InputError("texts need a model to embed them with; give one with -m, or two indexes")
        texts = [open_corpus([text], reader, tokenize, dictionary) for text in (old, new)]
        embedder = load(model_path(model, options), precision=precision, device=device)
        follow_model(embedder.segmentation, *texts)
        with shown(progress) as watcher:
            found = change_of_texts(
                embedder, *texts, words=words, least=least, most=most, layers=parse_choice(layers), watcher=watcher
            )
        notes += [f"{text}: {text.repairs}" for text in texts if text.repairs]
    if missing := {word.casefold() for word in words} - {one.word for one in found}:
        notes.append(f"not in both texts: {', '.join(sorted(missing))}")
    if plot is not None:
        notes += _draw(found, plot, old, new)
    for note in notes:
        typer.echo(f"polyseme: {note}", err=True)
    facts = {"model": model, "old": old, "new": new, "words": len(found)}
    print_results(form, "change", facts, Table(COLUMNS, [one.to_dict() for one in found[:k]]))


def _draw(found: "list[Change]", path: Path, old: str, new: str) -> list[str]:
    """Draw the most changed words; return the note about the picture, if any."""
    from polyseme import plots

    title = f"Change from {Path(old).name} to {Path(new).name}"
    note = plots.change_chart(path, [(one.word, one.apd) for one in found], title=title)
    return [note] if note else []
