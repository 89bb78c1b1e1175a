"""Arguments that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.errors import InputError
from polyseme.nn.choices import Precision
from polyseme.progress import ProgressKind
from polyseme.text.choices import Reader, TokenizerChoice

if TYPE_CHECKING:
    from polyseme.models.model import ModelPath
    from polyseme.text.corpus import Corpus
    from polyseme.text.dictionary import Dictionary
    from polyseme.text.repairs import Repairs
    from polyseme.text.segmentation import Segmentation


_FORMATS = "A bundled model (polyseme info names them), a model folder, a zip, an HDF5 weights file, "
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help=f"{_FORMATS}a TensorFlow checkpoint, an ELMoForManyLangs folder, or CoVe's weights with --vectors.",
        show_default=False,
    ),
]
PredictingModel = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help=f"{_FORMATS}or a TensorFlow checkpoint; it must have its softmax.", show_default=False
    ),
]
OptionsFile = Annotated[
    Path | None, typer.Option("--options", help="options.json of an HDF5 weights file, if it is in another folder.")
]
VectorsFile = Annotated[
    Path | None,
    typer.Option("--vectors", help="The word vectors that CoVe's published weights read, if they are elsewhere."),
]
SoftmaxFile = Annotated[
    Path | None, typer.Option("--softmax", help="HDF5 file with the softmax, if it is a separate file.")
]
VocabularyFile = Annotated[
    Path | None, typer.Option("--vocabulary", help="The model's words, one per line, if they are a separate file.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Print the table as CSV on standard output.")]

TextArgument = Annotated[
    list[str], typer.Argument(metavar="TEXT...", help="Files, folders, or - for standard input.", show_default=False)
]
TokenizeOption = Annotated[
    TokenizerChoice,
    typer.Option(
        help="How raw text is split into sentences and tokens: as the model's text was, not at all (a line is a "
        "sentence of tokens between spaces), into English words, Chinese words, characters, or words of any language "
        "(unicode; where there are no spaces between words: ja, th, km, lo, my). CoNLL-U, FASTA, VRT, words "
        "in TEI and JSON lines of tokens are never tokenised again."
    ),
]
DictionaryOption = Annotated[
    Path | None,
    typer.Option(
        "--dictionary",
        help="A file of words to keep whole in Chinese (or ja, th, ...), one per line, such as a novel's names, which "
        "polyseme words finds; by default those of the model's text.",
    ),
]
FormatOption = Annotated[
    Reader, typer.Option("--format", help="The layout of the text; auto decides by the file's suffix.")
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="A bundled model (polyseme info names them), or of any known format.",
        show_default=False,
    ),
]
PrecisionOption = Annotated[
    Precision, typer.Option(help="What the LSTMs compute in; fewer bits are faster and a little less exact.")
]
ProgressOption = Annotated[
    ProgressKind,
    typer.Option(
        "--progress", help="How to show progress: a bar, plain lines or JSON lines; auto is a bar on a terminal."
    ),
]
DeviceOption = Annotated[str, typer.Option(help="The device to compute on: cpu, cuda, cuda:1, ...")]


def model_path(model: str, options: Path | None, vectors: Path | None = None) -> "ModelPath":
    """The argument of `load` for a model and its options file or its word vectors."""
    if options is not None and vectors is not None:
        raise InputError("--options belongs to a biLM's weights and --vectors to CoVe's; leave one of them out")
    if vectors is not None:
        return model, vectors
    return model if options is None else (options, model)


def query_model(model: str | None, options: Path | None, vectors: Path | None = None) -> "ModelPath | None":
    """The model for queries of an index, if one is named."""
    if model is not None:
        return model_path(model, options, vectors)
    for name, given in (("--options", options), ("--vectors", vectors)):
        if given is not None:
            raise InputError(f"{name} {given} belongs to a model; name that with --model, or leave it out")
    return None


def check_outside(output: Path, text: Sequence[str]) -> None:
    """Raise an error if an output is inside a folder of text, where the next run would read it as text."""
    for source in text:
        if Path(source).is_dir() and output.resolve().is_relative_to(Path(source).resolve()):
            raise InputError(f"{output}: is inside {source}, where it would be read as text; write it elsewhere")


def read_dictionary(path: Path | None) -> "Dictionary | None":
    """The dictionary in a file, if one is given."""
    from polyseme.text.dictionary import Dictionary

    return None if path is None else Dictionary.read(path)


def open_corpus(text: Sequence[str], reader: Reader, tokenize: TokenizerChoice, dictionary: Path | None) -> "Corpus":
    """The corpus in the arguments of a command."""
    from polyseme.text.corpus import Corpus

    return Corpus(text, reader=reader, tokenize=tokenize, dictionary=read_dictionary(dictionary))


def follow_model(model: "Segmentation", *corpora: "Corpus") -> None:
    """Tokenise text as the model's text was, unless the user chose otherwise, and print how."""
    for note in dict.fromkeys(corpus.follow(model) for corpus in corpora):
        if note is not None:
            typer.echo(f"polyseme: {note}", err=True)


def tell_repairs(corpus: "Corpus") -> None:
    """Print what was replaced because it is not valid text, if anything was."""
    print_repairs(str(corpus), corpus.repairs)


def print_repairs(text: str, repairs: "Repairs") -> None:
    """Print what was replaced in a text, if anything was."""
    if repairs:
        typer.echo(f"polyseme: {text}: {repairs}", err=True)
