"""``polyseme similar``: the words nearest to a word."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import JsonFlag
from polyseme.cli.columns import padded
from polyseme.errors import InputError

if TYPE_CHECKING:
    from polyseme import StaticVectors


def similar(
    word: Annotated[str, typer.Argument(help="As it is written in the text.", show_default=False)],
    index: Annotated[
        Path | None,
        typer.Option("--index", help="By the average of its vectors in the contexts of an index.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="By a model's output embeddings, or by static vectors.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="By static vectors: GloVe, word2vec or fastText.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 10,
    least: Annotated[int, typer.Option(min=1, help="With --index, only words that stand so often in it.")] = 5,
    as_json: JsonFlag = False,
) -> None:
    """Print the words nearest to a word: in the contexts of a corpus, in a model's output, or in static vectors.

    Give several of --index, --model and --vectors to see them side by side.

    Example: polyseme similar play --index news-index --vectors glove.6B.50d.txt
    """
    from polyseme.embed.static_vectors import StaticVectors

    columns: dict[str, list[tuple[str, float]]] = {}
    if index is not None:
        from polyseme.index.occurrence_index import OccurrenceIndex

        columns["contexts"] = [one[:2] for one in OccurrenceIndex(index).similar(word, k=k, least=least)]
    if model is not None:
        from polyseme.formats.detect import open_any
        from polyseme.models.model import Model
        from polyseme.study.output_words import output_words

        opened = open_any(model)
        kind, table = ("output", output_words(opened)) if isinstance(opened, Model) else ("static", opened)
        columns[kind] = _nearest(StaticVectors(table), word, k, where=model)
    if vectors is not None:
        columns["static"] = _nearest(StaticVectors.load(vectors), word, k, where=str(vectors))
    if not columns:
        raise InputError("nothing to look in; give --index, --model or --vectors")
    if as_json:
        found = {name: [list(pair) for pair in pairs] for name, pairs in columns.items()}
        typer.echo(json.dumps({"word": word, **found}, ensure_ascii=False))
        return
    typer.echo("".join(f"{name:32}" for name in columns).rstrip())
    for number in range(max(map(len, columns.values()))):
        cells = (pairs[number] if number < len(pairs) else None for pairs in columns.values())
        typer.echo("".join(f"{padded(cell[0], 24)}{cell[1]:5.3f}   " if cell else " " * 32 for cell in cells).rstrip())


def _nearest(vectors: "StaticVectors", word: str, k: int, *, where: str) -> list[tuple[str, float]]:
    try:
        return vectors.nearest(word, k)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
