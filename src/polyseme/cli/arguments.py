"""Arguments that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from polyseme.formats.detect import ModelPath


class ReaderChoice(StrEnum):
    """How the input is laid out."""

    auto = "auto"
    lines = "lines"
    conllu = "conllu"
    jsonl = "jsonl"
    fasta = "fasta"


class TokenizerChoice(StrEnum):
    """How running text is cut into tokens."""

    en = "en"
    zh = "zh"
    char = "char"


class PrecisionChoice(StrEnum):
    """What the LSTMs compute in."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    int8 = "int8"


ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model folder, a zip, an HDF5 weights file, a TensorFlow checkpoint or an ELMoForManyLangs folder.",
        show_default=False,
    ),
]
OptionsFile = Annotated[
    Path | None, typer.Option("--options", help="options.json of an HDF5 weights file, where it lies elsewhere.")
]
SoftmaxFile = Annotated[Path | None, typer.Option("--softmax", help="HDF5 file with the softmax, where it is apart.")]
VocabularyFile = Annotated[
    Path | None, typer.Option("--vocabulary", help="The model's words, one a line, where they are apart.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]

TextArgument = Annotated[
    list[str], typer.Argument(metavar="TEXT...", help="Files, folders, or - for standard input.", show_default=False)
]
TokenizeOption = Annotated[
    TokenizerChoice | None, typer.Option(help="Cut raw text into sentences and tokens, as for training.")
]
FormatOption = Annotated[
    ReaderChoice, typer.Option("--format", help="The layout of the text; auto goes by the file's suffix.")
]
ModelOption = Annotated[
    str, typer.Option("--model", "-m", help="A model of any known format; see polyseme info.", show_default=False)
]
PrecisionOption = Annotated[
    PrecisionChoice, typer.Option(help="What the LSTMs compute in; fewer bits are faster and a little less exact.")
]
DeviceOption = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")]


def model_path(model: str, options: Path | None) -> "ModelPath":
    """What `load` takes for a model and an options file."""
    return model if options is None else (options, model)
