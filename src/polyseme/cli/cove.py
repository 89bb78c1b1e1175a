"""``polyseme cove``: train a translator, whose encoder gives CoVe vectors, and translate with it."""

import inspect
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.arguments import DeviceOption, JsonFlag, ProgressOption, check_outside
from polyseme.cli.settings_options import TranslateSettingsCommand
from polyseme.cli.tables import print_json
from polyseme.errors import InputError
from polyseme.text.choices import TokenizerChoice

if TYPE_CHECKING:
    from polyseme.train.translate.run import TranslateOutcome

_AT_ONCE = 2000
"""Lines that are read before they are translated, so that batches have sentences of similar length."""

app = typer.Typer(
    no_args_is_help=True,
    help="Train a translator, whose encoder gives CoVe vectors, and translate with it.",
)

_TOKENIZE = (
    "side is split into tokens: by what it looks like (auto); not at all (tokens between spaces); into English words, "
    "which also fits other languages with spaces, Chinese words or characters. A line is always one sentence."
)


_Parallel = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE TARGET | TABLE",
        help="Two files with a sentence per line, or one table: JSON lines (.jsonl) or columns between tabs; plain or "
        "gzip; not needed with --resume.",
        show_default=False,
    ),
]
_Output = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.", show_default=False)]
_Vectors = Annotated[
    Path | None,
    typer.Option(help="Static vectors of the source language: GloVe, word2vec or fastText.", show_default=False),
]
_Fields = Annotated[
    str | None,
    typer.Option(
        help="Two columns of a table by number, such as 1,2, or two JSON fields by name, source first.",
        show_default=False,
    ),
]
_SourceTokenize = Annotated[TokenizerChoice, typer.Option(help=f"How the source {_TOKENIZE}")]
_TargetTokenize = Annotated[TokenizerChoice, typer.Option(help=f"How the target {_TOKENIZE}")]
_Heldout = Annotated[
    list[str] | None,
    typer.Option(
        "--heldout",
        help="Held-out pairs in the same layout; give it twice for two files. By default a part is held out.",
        show_default=False,
    ),
]
_Resume = Annotated[bool, typer.Option("--resume", help="Continue where an interrupted run stopped.")]


@app.command("train", cls=TranslateSettingsCommand)
def train(
    parallel: _Parallel = None,
    *,
    output: _Output,
    vectors: _Vectors = None,
    fields: _Fields = None,
    source_tokenize: _SourceTokenize = "auto",
    target_tokenize: _TargetTokenize = "auto",
    heldout: _Heldout = None,
    resume: _Resume = False,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    **settings: Any,
) -> None:
    """Train an attentional translator on parallel text; its encoder is a CoVe model.

    Holds out pairs such that no sentence of either side is in both parts, trains, and keeps the weights that predict
    the held-out translations best. The output is a translator; its folder cove is the encoder, which embed, index,
    probe and polyseme.load open. Ctrl-C saves; --resume continues. BLEU needs sacrebleu.

    Example: polyseme cove train news.en news.es -o en-es --vectors glove.6B.50d.txt --time-budget 1h
    """
    from polyseme.progress import open_watcher
    from polyseme.train.translate.run import train_translator

    if not parallel and not resume:
        raise InputError("no parallel text given; name two files, one for each language, or one table")
    check_outside(output, parallel or [])
    settings |= {"source_tokenize": source_tokenize, "target_tokenize": target_tokenize}
    settings |= {"vectors": vectors, "heldout": heldout or [], "fields": fields.split(",") if fields else ()}
    watcher = open_watcher(progress, sys.stderr)
    outcome = train_translator(parallel or [], output, resume=resume, watcher=watcher, **settings)
    if os.environ.get("RANK", "0") == "0":  # only the first process prints
        _report(output, outcome, as_json=as_json)


# The command line learns of the settings from their own fields; see `polyseme.cli.settings_options`.
train.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [p for p in inspect.signature(train).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
)


@app.command()
def translate(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A folder that polyseme cove train wrote.", show_default=False)
    ],
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT...",
            help="Files of raw text, a sentence per line; standard input without any or as -.",
            show_default=False,
        ),
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Width of the beam; 1 is the greedy search, the fastest.")] = 4,
    length_penalty: Annotated[
        float, typer.Option(min=0.0, help="Scores are divided by length to this power; 0 favours short translations.")
    ] = 1.0,
    device: DeviceOption = "cpu",
) -> None:
    """Translate text, one line out for each line in.

    Lines are tokenised as the source side of the training text was, and come out as running text. A word that the
    model does not know is copied from the source.

    Example: polyseme cove translate en-es letters.txt --beam 4
    """
    from polyseme.formats.translator_folder import read

    opened = read(model).to(device)
    waiting: list[str] = []

    def empty() -> None:
        for line in opened.translate_lines(waiting, beam=beam, length_penalty=length_penalty):
            typer.echo(line)
        waiting.clear()

    for line in _lines(text or ["-"]):
        waiting.append(line)
        if len(waiting) == _AT_ONCE:
            empty()
    empty()


def _lines(paths: list[str]) -> Iterator[str]:
    from polyseme.text.corpus import open_bytes
    from polyseme.text.lines import Lines
    from polyseme.text.repairs import Repairs

    for path in paths:
        with open_bytes(path) as stream:
            yield from Lines(stream, name="<stdin>" if path == "-" else path, repairs=Repairs())


def _report(output: Path, outcome: "TranslateOutcome", *, as_json: bool) -> None:
    """Print what came of a run; leave if it was interrupted."""
    final = outcome.final
    if as_json:
        print_json("cove train", outcome.to_dict())
    elif final is not None:
        for one in final.samples:
            typer.echo(f"source       {one.source}\nreference    {one.reference}\ntranslation  {one.translation}\n")
        typer.echo(
            f"{output}: trained, held-out perplexity {outcome.run.score:.2f}; BLEU on {final.pairs:,} held-out pairs "
            f"{final.greedy.score:.2f} greedy, {final.beam.score:.2f} with a beam of {final.width}",
            err=True,
        )
    if not outcome.run.finished:
        typer.echo(f"{output}: stopped after update {outcome.run.updates:,}; continue with --resume", err=True)
        sys.exit(128 + (outcome.run.signal or signal.SIGINT))
