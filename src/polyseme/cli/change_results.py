"""How ``polyseme change`` shows what it found: a table, sentences and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from polyseme.cli.tables import Column, Form, Table
from polyseme.study.choices import ChangeSort

if TYPE_CHECKING:
    from polyseme.index.occurrence import Occurrence
    from polyseme.study.change_evidence import Evidence

_WORD, _COUNTS = Column("word"), (Column("old", 9, ","), Column("new", 9, ","))
_APD, _PRT = Column("apd", 8, ".4f", title="APD"), Column("prt", 8, ".4f", title="PRT")
_NOISE = {
    name: (Column(f"noise_{name}", 8, ".4f", title="noise"), Column(f"noise_{name}_95", 8, ".4f", title="95%"))
    for name in ("apd", "prt")
}
_CONTROL = {name: Column(f"control_{name}", 9, ".4f", title="controls") for name in ("apd", "prt")}
_MARK = Column("mark", 14, title="")
_MOST_DRAWN = 200


def change_table(found: "list[Evidence]", *, shuffles: bool, controls: bool, sort: ChangeSort, form: Form) -> Table:
    """Word, measures with what chance and control words reach, counts; for people, a mark where it may be chance."""
    columns = [_WORD]
    for measure in (_APD, _PRT):
        columns += [measure, *(_NOISE[measure.name] if shuffles else ())]
        columns += [_CONTROL[measure.name]] if controls else []
    columns += _COUNTS
    rows = [one.to_dict() for one in found]
    if form != "text":
        return Table(columns, rows)
    for row, one in zip(rows, found, strict=True):
        value, noise = _measured(one, sort)
        row["mark"] = "  within noise" if noise is not None and value <= noise else ""
    return Table([*columns, _MARK], rows)


def _measured(one: "Evidence", sort: ChangeSort) -> tuple[float, float | None]:
    """The change of a word, and its noise (95%), by the measure that words are ranked by."""
    change, noise = one.change, one.noise
    if sort == "prt":
        return change.prt, None if noise is None else noise.prt_95
    return change.apd, None if noise is None else noise.apd_95


def print_examples(found: "list[Evidence]") -> None:
    """Print the sentences that are new and that are gone, below each word that has such."""
    for one in found:
        if one.new or one.gone:
            typer.echo(f"\n{one.change.word}")
            _print_sentences("new", one.new)
            _print_sentences("gone", one.gone)


def _print_sentences(what: str, found: "list[Occurrence]") -> None:
    from polyseme.text.marked import mark

    for one in found:
        typer.echo(f"  {what:4}  {one.similarity:.3f}  {mark(one.sentence, one.position, around=12)}")


def draw_change(found: "list[Evidence]", path: Path, old: str, new: str, *, sort: ChangeSort) -> list[str]:
    """Draw the words in the order of the table; return the note about the picture, if any."""
    from polyseme import plots

    measured = {one.change.word: _measured(one, sort) for one in found}
    note = plots.change_chart(
        path,
        [(word, value) for word, (value, _) in measured.items()],
        noise={word: noise for word, (_, noise) in measured.items() if noise is not None},
        measure="PRT" if sort == "prt" else "APD",
        title=f"Change from {Path(old).name} to {Path(new).name}",
        most=_MOST_DRAWN,
        ranked=True,
    )
    return [note] if note else []
