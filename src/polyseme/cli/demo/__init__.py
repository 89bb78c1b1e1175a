"""``polyseme demo``: what contextual word vectors can be used for."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.errors import OutputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polyseme import Embedder
    from polyseme.arrays import Vectors

_KNOWN = 20_000  # number of words that an unknown word is compared with
_NO_BRACKETS = str.maketrans("", "", "[]")


@dataclass(frozen=True, slots=True)
class Shown:
    """What the demo shows of a bundled model."""

    sentences: str
    """A table next to this file: a word, its sense, and a sentence with the word in brackets."""
    unknown: Sequence[str]
    """Words that are not in the model's training text."""
    query: str
    gaps: Sequence[str]


SHOWN = {
    "english-small": Shown(
        "english.tsv",
        ("unlovably", "re-photographed", "Shakespeareish", "antiviruses"),
        "Olivia signed to do a Broadway [play] for Garson.",
        ("The [bank] lent him the money.", "We sat on the [bank] of the river."),
    ),
    "chinese-small": Shown(
        "chinese.tsv",
        ("图书馆员", "昆虫学家", "牛肉汤面", "火车票价"),
        "她喜欢吃[苹果]和梨。",
        ("两国[总统]举行了会谈。", "我昨天[买]了一本书。"),
    ),
}


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder for pictures and an index.")
    ] = Path("demo-output"),
) -> None:
    """Show what the bundled models can do, in a minute: senses, unknown words, search, substitutes, pictures.

    Example: polyseme demo
    """
    from polyseme import plots
    from polyseme.formats.detect import bundled_names
    from polyseme.index.vectors import faiss

    plots.check_path("play.png")  # raises an error now if something is not installed
    faiss()
    if output.exists():
        raise OutputError(f"{output}: exists already; give another folder with -o, or remove it")
    output.mkdir(parents=True)
    for name in sorted(bundled_names(), reverse=True):
        _show(name, SHOWN[name], output)


def sentences(shown: Shown) -> list[dict[str, str]]:
    """The rows of the table: word, sense, sentence."""
    with (Path(__file__).parent / shown.sentences).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def corpus_of(shown: Shown) -> str:
    """The sentences of the table as a raw text."""
    return "".join(f"{row['sentence']}\n\n" for row in sentences(shown)).translate(_NO_BRACKETS)


def _show(name: str, shown: Shown, output: Path) -> None:
    from polyseme.embed.load import load_embedder

    embedder = load_embedder(name)
    _run("info", name)
    rows = sentences(shown)
    words = list(dict.fromkeys(row["word"] for row in rows))
    found = [_one_word(embedder, [row for row in rows if row["word"] == word], output) for word in words]
    means = ", ".join(
        f"layer {layer} {sum(some) / len(some):.2f}" for layer, some in enumerate(zip(*found, strict=True))
    )
    typer.echo(
        f"\nAUC: how often two sentences of one sense are more similar than two of different senses; 0.50 is chance.\n"
        f"Mean of the {len(words)} words: {means}"
    )
    _unknown_words(embedder, shown.unknown)
    corpus, index = (os.path.relpath(output / f"{name}{ending}") for ending in (".txt", "-index"))
    Path(corpus).write_text(corpus_of(shown), encoding="utf-8")
    _run("index", corpus, "-m", name, "-o", index)
    _run("nearest", index, shown.query, "-k", "5")
    for gap in shown.gaps:
        _run("substitutes", name, gap, "-k", "6")


def _run(*arguments: str) -> None:
    """Print a command and run it."""
    from polyseme.cli.main import app

    typer.echo(f"\n$ polyseme {' '.join(f'{one!r}' if '[' in one else one for one in arguments)}")
    app(list(arguments), standalone_mode=False)


def _one_word(embedder: "Embedder", rows: Sequence[Mapping[str, str]], output: Path) -> list[float]:
    """Compare the vectors of a word in sentences of known senses, and draw them; return the AUC of each layer."""
    import numpy as np

    from polyseme import plots
    from polyseme.index.vectors import unit
    from polyseme.plots.fonts import families
    from polyseme.study.pair_auc import auc
    from polyseme.text.marked import mark, marked

    word, senses = rows[0]["word"], [row["sense"] for row in rows]
    places = [marked(row["sentence"], embedder.segmentation) for row in rows]
    embedded = embedder.embed([tokens for tokens, _ in places])
    vectors = unit(np.stack([layers[:, place] for layers, (_, place) in zip(embedded, places, strict=True)], axis=1))
    kinds = list(dict.fromkeys(senses))
    first, second = np.triu_indices(len(places), 1)
    same = np.array(senses)[first] == np.array(senses)[second]
    # Rounded, so that the vectors of layer 0, which are equal, are so to the last bit.
    cosines = np.einsum("lpd,lpd->lp", vectors[:, first], vectors[:, second]).round(5)  # (L, pairs)
    found = [auc(layer, same) for layer in cosines]
    typer.echo(f"\n'{word}' in {len(places)} sentences, {' and '.join(kinds)}: mean similarity of two of its vectors")
    _print_similarities(cosines, same, found)
    # If no installed font has the characters, a browser's fonts may.
    picture = output / (f"{word}.svg" if families(set(word))[1] else f"{word}.png")
    note = plots.occurrence_map(
        picture,
        vectors[-1],
        [kinds.index(sense) for sense in senses],
        names=kinds,
        texts=[mark(tokens, place, around=4) for tokens, place in places],
        most_texts=5,
        title=f"{word}: the top layer in {len(places)} sentences",
    )
    typer.echo(f"drawn: {os.path.relpath(picture)}" + (f" ({note})" if note else ""))
    return found


def _print_similarities(cosines: "Vectors", same: "NDArray[np.bool_]", found: Sequence[float]) -> None:
    """Print mean similarities (L, pairs) of pairs of one sense and of two, and the AUC of each layer."""
    for title, cells in (
        ("", [f"layer {layer}" for layer in range(len(cosines))]),
        ("same sense", [f"{layer[same].mean():.2f}" for layer in cosines]),
        ("different", [f"{layer[~same].mean():.2f}" for layer in cosines]),
        ("AUC", [f"{one:.2f}" for one in found]),
    ):
        typer.echo(f"{title:<12}" + "".join(f"{cell:>9}" for cell in cells))


def _unknown_words(embedder: "Embedder", words: Sequence[str]) -> None:
    """Show the known words that are most similar to an unknown one, which the model reads by its characters."""
    import numpy as np

    from polyseme.index.vectors import unit

    assert embedder.model.vocabulary is not None
    known = [word for word in embedder.model.vocabulary.words if not word.startswith("<")][:_KNOWN]
    typer.echo("\nA word it has never seen is read by its characters; the known words nearest to it in layer 0:")
    table, asked = (unit(embedder.embed([tokens], layers=0)[0]) for tokens in (known, list(words)))
    for word, similarities in zip(words, asked @ table.T, strict=True):
        typer.echo(f"  {word}: {', '.join(known[number] for number in np.argsort(-similarities)[:6])}")
