"""``polyseme explore``: the occurrences of a text in a browser, as a map."""

import logging
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import (
    DictionaryOption,
    FormatOption,
    PrecisionOption,
    ProgressOption,
    TokenizeOption,
    check_outside,
    follow_model,
    open_corpus,
    tell_repairs,
)
from polyseme.cli.progress import shown
from polyseme.errors import InputError
from polyseme.nn.choices import Precision
from polyseme.progress.figures import counted
from polyseme.text.choices import Reader, TokenizerChoice

if TYPE_CHECKING:
    from polyseme.progress import Watcher
    from polyseme.serve.parts import Parts

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="INDEX|TEXT...",
        help="A folder written by polyseme index, or a text; two of them are compared.",
        show_default=False,
    ),
]
ExploreModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The model for a text (by default the bundled one of its language), or that of an index that was moved.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Where to write the index of a text; by default beside it, as TEXT-index."),
]
PointsOption = Annotated[
    int | None,
    typer.Option(min=1, max=1_000_000, help="Occurrences on the map, at most. [default: 100,000]", show_default=False),
]
SampleOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=200_000,
        help="Those of them that are arranged; the others are placed beside them. [default: 20,000]",
        show_default=False,
    ),
]
WordOption = Annotated[
    list[str] | None,
    typer.Option(
        "--word",
        help="A word whose occurrences shall be in the sample, and whose senses shall be in --html; may be repeated.",
    ),
]
StaticOption = Annotated[
    Path | None, typer.Option("--static", help="GloVe, word2vec or fastText vectors, as a layer beside the model's.")
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="Labels to colour by: CSV whose first column is word, document, file or name; or the text in CoNLL-U.",
    ),
]
ColumnOption = Annotated[str, typer.Option("--column", help="The column of CoNLL-U that holds the labels.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", help="Write the page as one file instead of serving it.", show_default=False)
]
HtmlPoints = Annotated[int, typer.Option("--html-points", min=1, max=50_000, help="Points in that file.")]
RemakeFlag = Annotated[bool, typer.Option("--remake", help="Make the map again.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]
BrowserFlag = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="Threads to compute with; by default all.")]


def explore(
    sources: SourcesArgument,
    model: ExploreModel = None,
    output: OutputOption = None,
    points: PointsOption = None,
    sample: SampleOption = None,
    word: WordOption = None,
    static: StaticOption = None,
    labels: LabelsOption = None,
    column: ColumnOption = "upos",
    html: HtmlOption = None,
    html_points: HtmlPoints = 5000,
    remake: RemakeFlag = False,
    port: PortOption = 0,
    browser: BrowserFlag = True,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    precision: PrecisionOption = "float32",
    threads: ThreadsOption = None,
    progress: ProgressOption = "auto",
) -> None:
    """See the occurrences of a text in a browser: a map by meaning, with senses, neighbours and layers.

    A map is made once, which takes a few minutes, and is kept with its index. A text is indexed first. The page is
    served to this machine alone, until Ctrl-C, and asks for nothing outside it. Needs polyseme[explore].

    Example: polyseme explore novel.txt
    """
    exploring = _checked(sources, html)
    named: dict[str, object] = {"points": points, "sample": sample, "words": tuple(word or ()) or None}
    with shown(progress) as watcher:
        build = _Build(model, tokenize, dictionary, reader, precision, watcher)
        folders = [build.index(source, output if number == 0 else None) for number, source in enumerate(sources)]
        wanted = exploring.Wanted(folders, model, named, static, labels, column, remake, threads)
        parts = exploring.open_explorer(wanted, watcher)
    if html is None:
        return _serve(parts, folders[0], port, browser=browser)
    return _write(html, parts, html_points, word or [])


def _checked(sources: list[str], html: Path | None) -> ModuleType:
    """The module that opens the explorer; what cannot be done is refused before anything is."""
    from polyseme.serve import exploring
    from polyseme.serve.html_export import check_path

    if html is not None:
        check_path(html)
    if len(sources) > 2:
        raise InputError(f"{len(sources)} indexes or texts; one is shown, or two are compared")
    return exploring


@dataclass(frozen=True)
class _Build:
    """How a text becomes an index."""

    model: str | None
    tokenize: TokenizerChoice
    dictionary: Path | None
    reader: Reader
    precision: Precision
    watcher: "Watcher"

    def index(self, source: str, output: Path | None) -> Path:
        """The index that is named, or that of a text, which is built unless it was before."""
        from polyseme.embed.load import load
        from polyseme.index.manifest import MANIFEST
        from polyseme.index.occurrence_index import OccurrenceIndex

        path = Path(source)
        if (path / MANIFEST).is_file():
            return path
        if source == "-" or not path.exists():
            raise InputError(
                f"{source}: no such index or text; give the folder of an index, or a file or folder of text"
            )
        folder = output or path.absolute().with_name(f"{path.absolute().name.split('.')[0]}-index")
        check_outside(folder, [source])
        corpus = open_corpus([source], self.reader, self.tokenize, self.dictionary)
        embedder = load(self.model or _fitting_model(path), precision=self.precision)
        follow_model(embedder.segmentation, corpus)
        typer.echo(f"polyseme: the index of {source} is kept in {folder}", err=True)
        # "resume" also finds that the same index was built before.
        OccurrenceIndex.build(embedder, corpus, folder, resume=True, watcher=self.watcher)
        tell_repairs(corpus)
        return folder


def _fitting_model(path: Path) -> str:
    """The bundled model for the language of a text."""
    from polyseme.text.beginning import beginning
    from polyseme.text.looks import look_at

    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return "chinese-small" if look_at(beginning((str(one), "lines") for one in files)) == "chinese" else "english-small"


def _write(html: Path, parts: "Parts", points: int, words: list[str]) -> None:
    from polyseme.serve.html_export import too_rare, write_html

    rare = too_rare(parts, words)
    for note in rare.values():
        typer.echo(f"polyseme: {note}", err=True)
    count = write_html(html, parts, points=points, words=[word for word in words if word not in rare])
    typer.echo(f"{html}: {counted(count, 'point')}, {html.stat().st_size / (1 << 20):.1f} MiB", err=True)


def _serve(parts: "Parts", folder: Path, port: int, *, browser: bool) -> None:
    """Show the page to this machine until a signal comes."""
    import webbrowser

    from polyseme.serve.limits import Limits
    from polyseme.serve.process import listen
    from polyseme.serve.process import serve as serve_here
    from polyseme.serve.settings import Settings

    logging.basicConfig(format="polyseme: %(message)s", level=logging.WARNING)
    settings = Settings(model=parts.name, index=folder, port=port, limits=Limits(timeout=120))
    listener = listen(settings.host, settings.port)
    address = f"http://{settings.host}:{listener.getsockname()[1]}/explore"

    def ready(_: str) -> None:
        typer.echo(f"polyseme: {address} (stop with Ctrl-C)", err=True)
        if browser:
            webbrowser.open(address)

    serve_here(settings, listener, ready, loaded=parts)
