"""``polyseme serve``: a model over HTTP."""

import inspect
import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    DictionaryOption,
    ModelArgument,
    OptionsFile,
    PrecisionOption,
    SoftmaxFile,
    TokenizeOption,
    VectorsFile,
    VocabularyFile,
    model_path,
)

IndexOption = Annotated[
    str | None, typer.Option("--index", help="What polyseme index wrote, for /nearest, /similar and /senses.")
]
TaskOption = Annotated[Path | None, typer.Option("--task", help="A trained task, for /predict.")]
HostOption = Annotated[str, typer.Option(help="The address to listen at; others than this machine's need a token.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]
LayersOption = Annotated[str, typer.Option(help="Of requests that do not say: mean, top or the number of a layer.")]
NameOption = Annotated[
    str | None, typer.Option(help="What clients call the model; by default the last part of its path.")
]
WorkersOption = Annotated[int, typer.Option(min=1, max=256, help="Processes that share the port.")]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, help="Threads that each process computes with; by default all, shared out.")
]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="A file with the token that every request must bring.")
]
InsecureFlag = Annotated[
    bool, typer.Option("--insecure", help="Listen at any address without a token, if a proxy checks requests.")
]
AllowHost = Annotated[
    list[str] | None, typer.Option("--allow-host", help="A name by which a proxy calls the server; may be repeated.")
]


def serve(
    model: ModelArgument,
    index: IndexOption = None,
    task: TaskOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    precision: PrecisionOption = "float32",
    layers: LayersOption = "mean",
    name: NameOption = None,
    workers: WorkersOption = 1,
    threads: ThreadsOption = None,
    token_file: TokenFile = None,
    insecure: InsecureFlag = False,
    allowed_hosts: AllowHost = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
    **limits: object,
) -> None:
    """Serve vectors, scores, searches and predictions over HTTP, until Ctrl-C or SIGTERM.

    POST /v1/embeddings speaks as OpenAI's interface does and POST /embed as text-embeddings-inference; /docs lists all
    paths. Requests that come at the same time are computed together. Needs FastAPI and uvicorn (polyseme[serve]).

    Example: polyseme serve english-small --precision int8 --index news-index
    """
    given = dict(locals())  # by the names that the settings have
    given["model"] = model_path(model, given.pop("options"), given.pop("vectors"))
    given["limits"] = {limit: value for limit, value in limits.items() if value is not None}
    given["allowed_hosts"] = allowed_hosts or ()
    given["threads"] = threads or (None if workers == 1 else max(1, (os.cpu_count() or 1) // workers))
    _run(given)


# The command line learns of the limits from their own fields; see `polyseme.cli.settings_options`.
serve.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [p for p in inspect.signature(serve).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
)


def _run(chosen: dict[str, object]) -> None:
    """Listen, say where, and serve."""
    # Threads of torch that wait for work would spin, and take the processor from those that answer; read when it loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from pydantic import ValidationError

    from polyseme.errors import InputError
    from polyseme.files.json_file import problems
    from polyseme.serve.process import listen
    from polyseme.serve.process import serve as serve_here
    from polyseme.serve.settings import Settings
    from polyseme.serve.workers import Workers

    try:
        settings = Settings.model_validate(chosen)
    except ValidationError as error:
        place, problem = next(problems(error))
        raise InputError(f"{place}: {problem}; see polyseme serve --help") from None
    settings.check()
    logging.basicConfig(format="polyseme: %(message)s", level=logging.WARNING)
    listener = listen(settings.host, settings.port)
    address, port = listener.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    _tell(f"listening at http://{shown}:{port}; stop with Ctrl-C")
    if settings.workers == 1:
        serve_here(settings, listener, _tell)
    else:
        Workers(settings, listener, _tell).run()


def _tell(line: str) -> None:
    typer.echo(f"polyseme: {line}", err=True)
