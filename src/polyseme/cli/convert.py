"""``polyseme convert``: any format to the native folder, back to HDF5 or a state dict, or to ONNX; word vectors."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.arguments import ModelArgument, OptionsFile, SoftmaxFile, VectorsFile, VocabularyFile, model_path
from polyseme.errors import InputError
from polyseme.formats.choices import WORD2VEC, Storage, Target
from polyseme.progress.figures import counted

if TYPE_CHECKING:
    from polyseme.models.model import Model


def convert(
    model: ModelArgument,
    output: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="A new folder to write; a file for word2vec's form.", show_default=False),
    ],
    to: Annotated[
        Target,
        typer.Option(
            help="The native folder; options.json with weights.hdf5; a folder of static word vectors; CoVe as "
            "published: a state dict with its word vectors; static vectors in the form of word2vec, binary or text, "
            "which gensim reads; or a folder with an ONNX model that takes characters and gives layers."
        ),
    ] = "native",
    weights: Annotated[
        Storage,
        typer.Option(
            help="The number type in which a native folder stores the weights; they are always loaded as float32."
        ),
    ] = "float32",
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    softmax: SoftmaxFile = None,
    vocabulary: VocabularyFile = None,
) -> None:
    """Write a model of any known format as a native folder, a byte model as options + HDF5, CoVe as a state dict.

    No number is changed unless --weights says so: a model converted there and back is identical to the last bit.
    bfloat16 takes half the space, int8 (with a scale per row) a quarter.

    Static vectors (a file of GloVe, word2vec or fastText vectors) become a folder that opens at once.

    Example: polyseme convert elmo.zip my-model

    Example: polyseme convert glove.6B.50d.txt glove

    Example: polyseme convert glove.6B.50d.txt glove.bin --to word2vec

    Example: polyseme convert cove.pth my-cove --vectors glove.840B.300d.txt

    Example: polyseme convert english-small english-onnx --to onnx
    """
    if to == "vectors" or to in WORD2VEC:
        _convert_vectors(
            Path(model),
            output,
            to,
            {
                "--weights": weights != "float32",
                "--options": options,
                "--vectors": vectors,
                "--softmax": softmax,
                "--vocabulary": vocabulary,
            },
        )
        return
    from polyseme.formats.combination import Combination
    from polyseme.formats.detect import open_any
    from polyseme.models.model import Model

    opened = open_any(model_path(model, options, vectors), softmax=softmax, vocabulary=vocabulary)
    if isinstance(opened, Combination):
        raise InputError(f"{model}: a combination names its parts and has no weights of its own; convert the parts")
    if not isinstance(opened, Model):
        if to != "native":
            what = {"hdf5": "the HDF5 weights of a biLM", "onnx": "an ONNX model"}.get(to, "the state dict of CoVe")
            raise InputError(f"{model}: word vectors cannot be written as {what}; leave out --to")
        _convert_vectors(Path(model), output, to, {"--weights": weights != "float32"})
        return
    if to != "native" and weights != "float32":
        what = {"hdf5": "HDF5 weights are", "onnx": "an ONNX model is"}.get(to, "a state dict is")
        raise InputError(f"{what} float32, not {weights}; leave out --weights, or --to {to}")
    _write(opened, output, to, weights)
    typer.echo(f"{output}: written from {model}", err=True)


def _write(model: "Model", output: Path, to: Target, storage: Storage) -> None:
    from polyseme.files.lock import locked
    from polyseme.formats import bilm_hdf5, cove_folder, cove_state, native
    from polyseme.models.mt_lstm import MtLstm

    if to == "onnx":
        from polyseme.compat.onnx import export

        export(model, output)
        return
    with locked(output):
        if to == "hdf5":
            bilm_hdf5.write(model, output)
        elif to == "state-dict":
            cove_state.write(model, output)
        elif isinstance(model.network, MtLstm):
            cove_folder.write(model, output, storage=storage)
        else:
            native.write(model, output, storage=storage)


def _convert_vectors(path: Path, output: Path, to: Target, models_only: Mapping[str, object]) -> None:
    from polyseme.embed.static_vectors import StaticVectors

    if given := [name for name, value in models_only.items() if value]:
        raise InputError(f"word vectors have no {' and no '.join(given)}; leave it out, or --to {to}")
    vectors = StaticVectors.load(path)
    if to in WORD2VEC:
        vectors.save_word2vec(output, binary=to == "word2vec")
    else:
        vectors.save(output)
    typer.echo(f"{output}: written, {counted(len(vectors), 'word')} of {counted(vectors.dim, 'number')}", err=True)
