"""``polyseme train``: text in, a model folder out."""

import inspect
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from polyseme.cli import BEGUN
from polyseme.cli.arguments import (
    DictionaryOption,
    FormatOption,
    JsonFlag,
    ProgressOption,
    check_outside,
)
from polyseme.cli.progress import leaving
from polyseme.cli.tables import print_json
from polyseme.errors import InputError
from polyseme.text.choices import TokenizerChoice
from polyseme.train.choices import Preset


def train(
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CORPUS...", help="Text: files, folders or - ; not needed with --resume.", show_default=False
        ),
    ] = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.", show_default=False)],
    preset: Annotated[
        Preset | None, typer.Option(help="Sizes and settings to start from; small by default.", show_default=False)
    ] = None,
    tokenize: Annotated[
        TokenizerChoice,
        typer.Option(
            help="How raw text is split into sentences and tokens: as the text of the model --from was or, without "
            "one, by what the text looks like (auto); not at all (a line is a sentence of tokens between spaces); "
            "into English words, Chinese words, characters, or words of any language (unicode; where there are no "
            "spaces between words: ja, th, km, lo, my)."
        ),
    ] = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    heldout: Annotated[
        list[str] | None,
        typer.Option(
            "--heldout", help="Held-out text; by default a part of the corpus is held out.", show_default=False
        ),
    ] = None,
    stop_words: Annotated[
        Path | None, typer.Option(help="A file of words, one per line, to leave out of the text.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="A model of any known format to start from.", show_default=False)
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Static word vectors to start from: GloVe, word2vec or fastText.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where an interrupted run stopped.")] = False,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
    **settings: Any,
) -> None:
    """Train a biLM on your own text.

    Counts the corpus, builds vocabulary and characters, holds a part out, trains, and keeps the model that predicts
    the held-out part best. Ctrl-C saves; --resume continues. Several processes: torchrun --nproc-per-node 2 -m
    polyseme train ...

    Example: polyseme train novel.txt -o novel-model --preset tiny --time-budget 30m
    """
    from polyseme.progress import open_watcher
    from polyseme.train.lm.run import train as run

    if not corpus and not resume:
        raise InputError("no corpus given; name files or folders of text, or - for standard input")
    check_outside(output, corpus or [])
    with leaving():
        outcome = run(
            corpus or [],
            output,
            preset=preset,
            heldout=heldout or [],
            reader=reader,
            tokenize=tokenize,
            dictionary=dictionary,
            stop_words=stop_words,
            start=start,
            vectors=vectors,
            resume=resume,
            watcher=open_watcher(progress, sys.stderr),
            begun=BEGUN,
            **settings,
        )
    if os.environ.get("RANK", "0") != "0":  # only the first process prints
        return
    if as_json:
        print_json("train", outcome.to_dict())
    elif outcome.finished:
        typer.echo(f"{output}: trained, held-out perplexity {outcome.score:.2f} (full softmax, average)", err=True)
    if not outcome.finished:
        typer.echo(f"{output}: stopped after update {outcome.updates:,}; continue with --resume", err=True)
        sys.exit(128 + (outcome.signal or signal.SIGINT))


# The command line learns of the settings from their own fields; see `polyseme.cli.settings_options`.
train.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [p for p in inspect.signature(train).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
)
