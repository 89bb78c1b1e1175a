"""``polyseme convert``: from any format to the native folder, and back to HDF5; word vectors to theirs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import ModelArgument, OptionsFile, SoftmaxFile, VocabularyFile, model_path
from polyseme.errors import InputError
from polyseme.formats.choices import Storage, Target


def convert(
    model: ModelArgument,
    output: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder to write.", show_default=False)],
    to: Annotated[
        Target,
        typer.Option(help="The native folder, options.json with weights.hdf5, or a folder of static word vectors."),
    ] = "native",
    weights: Annotated[
        Storage,
        typer.Option(
            help="The number type in which a native folder stores the weights; they are always loaded as float32."
        ),
    ] = "float32",
    options: OptionsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
) -> None:
    """Write a model of any known format as a native folder, or a byte model as options + HDF5.

    No number is changed unless --weights says so: a model converted there and back is identical to the last bit.
    bfloat16 takes half the space, int8 (with a scale per row) a quarter.

    Static vectors (a file of GloVe, word2vec or fastText vectors) become a folder that opens at once.

    Example: polyseme convert elmo.zip my-model

    Example: polyseme convert glove.6B.50d.txt glove
    """
    if to == "vectors":
        _convert_vectors(
            Path(model),
            output,
            {
                "--weights": weights != "float32",
                "--options": options,
                "--softmax": softmax,
                "--vocabulary": vocabulary,
            },
        )
        return
    from polyseme.files.lock import locked
    from polyseme.formats import bilm_hdf5, native
    from polyseme.formats.detect import open_any
    from polyseme.models.model import Model

    opened = open_any(model_path(model, options), softmax=softmax, vocabulary=vocabulary)
    if not isinstance(opened, Model):
        if to == "hdf5":
            raise InputError(f"{model}: word vectors cannot be written as the HDF5 weights of a biLM; leave out --to")
        _convert_vectors(Path(model), output, {"--weights": weights != "float32"})
        return
    if to == "hdf5" and weights != "float32":
        raise InputError(f"HDF5 weights are float32, not {weights}; leave out --weights, or --to hdf5")
    with locked(output):
        if to == "native":
            native.write(opened, output, storage=weights)
        else:
            bilm_hdf5.write(opened, output)
    typer.echo(f"{output}: written from {opened.config.source}", err=True)


def _convert_vectors(path: Path, output: Path, models_only: Mapping[str, object]) -> None:
    from polyseme.files.lock import locked
    from polyseme.formats import word_vectors

    if given := [name for name, value in models_only.items() if value]:
        raise InputError(f"word vectors have no {' and no '.join(given)}; leave it out, or --to vectors")
    table = word_vectors.read(path)
    with locked(output):
        word_vectors.write(table, output)
    typer.echo(f"{output}: written, {len(table.words):,} words of {table.dim} numbers", err=True)
