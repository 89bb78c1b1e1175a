"""``polyseme convert``: from any format to the native folder, and back to HDF5."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import ModelArgument, OptionsFile, SoftmaxFile, VocabularyFile, model_path
from polyseme.errors import InputError


class Target(StrEnum):
    """What to write."""

    native = "native"
    hdf5 = "hdf5"


class Storage(StrEnum):
    """What weights are kept in."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    int8 = "int8"


def convert(
    model: ModelArgument,
    output: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder to write.", show_default=False)],
    to: Annotated[Target, typer.Option(help="The native folder, or options.json with weights.hdf5.")] = Target.native,
    weights: Annotated[
        Storage,
        typer.Option(help="What a native folder keeps its weights in; they are always computed with as float32."),
    ] = Storage.float32,
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
) -> None:
    """Write a model of any known format as a native folder, or a byte model as options + HDF5.

    No number is changed on the way unless --weights says so: a model converted there and back is the same to the last
    bit. bfloat16 takes half the space, int8 (a scale for each row) a quarter.

    Example: polyseme convert elmo.zip my-model
    """
    from polyseme.formats import bilm_hdf5, native
    from polyseme.formats.detect import open_model

    opened = open_model(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    if to is Target.native:
        native.write(opened, output, storage=weights.value)
    elif weights is Storage.float32:
        bilm_hdf5.write(opened, output)
    else:
        raise InputError(f"HDF5 weights are float32, not {weights.value}; leave out --weights, or --to hdf5")
    typer.echo(f"{output}: written from {opened.config.source}", err=True)
