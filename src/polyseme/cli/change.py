"""``polyseme change``: how much words differ between two texts."""

from dataclasses import dataclass
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
    VectorsFile,
    follow_model,
    model_path,
    open_corpus,
)
from polyseme.cli.change_results import change_table, draw_change, print_examples
from polyseme.cli.progress import shown
from polyseme.cli.tables import Row, form_of, print_results
from polyseme.errors import InputError
from polyseme.nn.choices import Precision
from polyseme.study.choices import ChangeSort
from polyseme.text.choices import Reader, TokenizerChoice

if TYPE_CHECKING:
    from polyseme.progress import Watcher
    from polyseme.study.compared import Compared


def change(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD... OLD NEW",
            help="Words, then two texts (files or folders) or two indexes.",
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
    sort: Annotated[
        ChangeSort | None,
        typer.Option(
            help="Rank by APD, by PRT, or by how far APD is above its noise (95%). [default: excess, or apd if nothing "
            "is shuffled]",
            show_default=False,
        ),
    ] = None,
    shuffles: Annotated[
        int,
        typer.Option(
            min=0, help="Shuffle the occurrences of a word so often to see what chance does; 0 for not at all."
        ),
    ] = 20,
    examples: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Sentences that are new, and that are gone, for each word. [default: 2 for words that are named]",
            show_default=False,
        ),
    ] = None,
    controls: Annotated[
        int, typer.Option(min=0, help="Compare each word with so many others that are as frequent in both texts.")
    ] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the words that are printed into this .png or .svg file.", show_default=False),
    ] = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Print how much words differ in use between two texts, the most changed first.

    APD is the average distance (1 - cosine) between an old and a new occurrence, PRT the distance between their
    averages; letter case does not count. With indexes, all occurrences are compared, as they were embedded. Noise is
    what the measure reaches if the occurrences of both texts are shuffled and split again: its mean, and what 95% of
    the shuffles do not exceed. A change that is not above it may be chance, and is marked. Words are ranked by how far
    their APD is above it.

    Example: polyseme change plane cell gay 1900.txt 2000.txt -m english-small
    """
    from polyseme import plots
    from polyseme.study.change_evidence import gather_evidence

    form = form_of(as_json, as_csv)
    if len(arguments) < 2:
        raise InputError("give two texts or two indexes after the words: polyseme change WORD... OLD NEW")
    *words, old, new = arguments
    if plot is not None:
        plots.check_path(plot)
    for_texts = _ForTexts(model, options, vectors, tokenize, dictionary, reader, precision, device, layers, most)
    sort = sort or ("excess" if shuffles else "apd")
    if sort == "excess" and not shuffles:
        raise InputError("--sort excess needs the noise, which --shuffles 0 leaves out; leave out one of the two")
    notes = ["--csv has no place for examples; --json has them"] if examples and as_csv else []
    with shown(progress) as watcher:
        compared = _compared(old, new, for_texts, watcher, notes)
        wanted = (2 if words else 0) if examples is None else examples
        settings = {"least": least, "top": k, "shuffles": shuffles, "examples": wanted, "controls": controls}
        found, changes = gather_evidence(compared, words, **settings, sort=sort)
    notes += _missing(words, compared, old, new)
    if plot is not None:
        notes += draw_change(found, plot, old, new, sort=sort)
    for note in notes:
        typer.echo(f"polyseme: {note}", err=True)
    facts: Row = {"model": model or compared.model, "old": old, "new": new, "words": len(changes)}
    table = change_table(found, shuffles=bool(shuffles), controls=bool(controls), sort=sort, form=form)
    print_results(form, "change", facts, table)
    if form == "text":
        print_examples(found)


def _missing(words: list[str], compared: "Compared", old: str, new: str) -> list[str]:
    """One note for each text that lacks some of the words."""
    folded = sorted({word.casefold() for word in words})
    lacking = [[word for word in folded if not counts[word]] for counts in compared.counts]
    return [f"not in {text}: {', '.join(some)}" for text, some in zip((old, new), lacking, strict=True) if some]


@dataclass(frozen=True)
class _ForTexts:
    """The options that texts have and indexes have not."""

    model: str | None
    options: Path | None
    vectors: Path | None
    tokenize: TokenizerChoice
    dictionary: Path | None
    reader: Reader
    precision: Precision
    device: str
    layers: str
    most: int

    def check_unused(self, old: str, new: str) -> None:
        """Raise an error if one was given for indexes."""
        given = {
            "--model": self.model,
            "--options": self.options,
            "--vectors": self.vectors,
            "--tokenize": None if self.tokenize == "auto" else self.tokenize,
            "--dictionary": self.dictionary,
            "--layers": None if self.layers == "top" else self.layers,
        }
        for name, value in given.items():
            if value is not None:
                raise InputError(f"{name} is for texts, and {old} and {new} are indexes; leave it out")


def _compared(old: str, new: str, given: _ForTexts, watcher: "Watcher", notes: list[str]) -> "Compared":
    """The two texts, or the two indexes; notes get what was replaced in the texts."""
    from polyseme.index.stores import is_index
    from polyseme.study.compared_indexes import ComparedIndexes

    indexes = [is_index(place) for place in (old, new)]
    if all(indexes):
        given.check_unused(old, new)
        return ComparedIndexes(old, new)
    if any(indexes):
        raise InputError(f"{old} and {new}: one is an index and the other is not; give two indexes, or two texts")
    from polyseme.embed.layers import parse_choice
    from polyseme.embed.load import load
    from polyseme.study.compared_texts import ComparedTexts

    if given.model is None:
        raise InputError("texts need a model to embed them with; give one with -m, or two indexes")
    texts = [open_corpus([text], given.reader, given.tokenize, given.dictionary) for text in (old, new)]
    path = model_path(given.model, given.options, given.vectors)
    embedder = load(path, precision=given.precision, device=given.device)
    follow_model(embedder.segmentation, *texts)
    layers = parse_choice(given.layers)
    compared = ComparedTexts(embedder, *texts, most=given.most, layers=layers, watcher=watcher)
    notes += [f"{text}: {text.repairs}" for text in texts if text.repairs]
    return compared
