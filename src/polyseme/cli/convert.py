"""``polyseme convert``: from any format to the native folder, and back to HDF5."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import ModelArgument, OptionsFile, SoftmaxFile, VocabularyFile, model_path


class Target(StrEnum):
    """What to write."""

    native = "native"
    hdf5 = "hdf5"


def convert(
    model: ModelArgument,
    output: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder to write.", show_default=False)],
    to: Annotated[Target, typer.Option(help="The native folder, or options.json with weights.hdf5.")] = Target.native,
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
) -> None:
    """Write a model of any known format as a native folder, or a byte model as options + HDF5.

    No number is changed on the way: a model converted there and back is the same to the last bit.

    Example: polyseme convert elmo.zip my-model
    """
    from polyseme.formats import bilm_hdf5, native
    from polyseme.formats.detect import open_model

    opened = open_model(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    (native.write if to is Target.native else bilm_hdf5.write)(opened, output)
    typer.echo(f"{output}: written from {opened.config.source}", err=True)
