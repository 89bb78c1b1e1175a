"""What ``polyseme index`` stores: a text that is embedded, or vectors that were embedded before."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import check_outside, follow_model, model_path, open_corpus
from polyseme.errors import InputError
from polyseme.nn.choices import Precision
from polyseme.text.choices import Reader, TokenizerChoice

if TYPE_CHECKING:
    from polyseme.embed.layers import LayerChoice
    from polyseme.embed.source import VectorSource
    from polyseme.text.corpus import Corpus

IndexedText = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT...", help="Files, folders, or - for standard input.", show_default=False),
]
IndexModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A bundled model (polyseme info names them), or of any known format.",
        show_default=False,
    ),
]
IndexLayers = Annotated[
    str | None,
    typer.Option(
        help="Which vector of an occurrence: top, mean or the number of a layer. [default: top; what --vectors holds]",
        show_default=False,
    ),
]
IndexVectors = Annotated[
    str | None,
    typer.Option(
        "--vectors",
        help="Instead of TEXT and --model: a folder that polyseme embed --engine ray wrote, or a .parquet file of "
        "polyseme embed; nothing is embedded again. With --model: the word vectors that CoVe's published weights read.",
        show_default=False,
    ),
]


def open_stored_vectors(vectors: str, layers: str | None) -> "tuple[VectorSource, Corpus, LayerChoice]":
    """Vectors that were embedded before, their sentences, and which layers to store."""
    from polyseme.embed.layers import parse_choice
    from polyseme.embed.stored_parts import open_stored
    from polyseme.embed.stored_vectors import StoredVectors
    from polyseme.files.location import Location

    source = StoredVectors(open_stored(Location.of(vectors)))
    return source, source.corpus, source.only_layers(None if layers is None else parse_choice(layers))


def open_text(
    text: list[str] | None,
    model: str | None,
    layers: str | None,
    output: str,
    *,
    reader: Reader,
    tokenize: TokenizerChoice,
    dictionary: Path | None,
    precision: Precision,
    device: str,
    options: Path | None,
    vectors: str | None,
) -> "tuple[VectorSource, Corpus, LayerChoice]":
    """A model, a text, and which layers to store."""
    from polyseme.embed.layers import parse_choice
    from polyseme.embed.load import load
    from polyseme.index.stores import is_address

    if not text or model is None:
        missing = "--model" if text else "TEXT"
        raise InputError(f"{missing} is missing; give TEXT and --model, or --vectors with vectors embedded before")
    if not is_address(output):
        check_outside(Path(output), text)
    corpus = open_corpus(text, reader, tokenize, dictionary)
    path = model_path(model, options, None if vectors is None else Path(vectors))
    embedder = load(path, precision=precision, device=device)
    follow_model(embedder.segmentation, corpus)
    return embedder, corpus, parse_choice(layers or "top")
