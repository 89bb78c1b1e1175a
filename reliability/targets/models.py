"""Models and word vectors of every format."""

import shutil
from functools import partial
from pathlib import Path

from polyseme import load
from polyseme.formats import mixes, native, translator_folder
from polyseme.formats.detect import open_model
from polyseme.nn.scalar_mix import ScalarMix
from reliability import good_models
from reliability.good_models import SENTENCES
from reliability.target import Target


def _use(path: Path) -> None:
    """Open whatever is there and embed some sentences."""
    source = load(path)
    source.embed(SENTENCES)
    source.fingerprint()


def _use_checkpoint(folder: Path) -> None:
    _use(folder / "model.ckpt-935588.index" if (folder / "model.ckpt-935588.index").exists() else folder)


def _use_mixes(folder: Path) -> None:
    _use(folder)
    shutil.rmtree(folder.with_name("again"), ignore_errors=True)
    native.write(open_model(folder), folder.with_name("again"))


def _write_mixes(folder: Path) -> None:
    good_models.write_bilm(folder)
    mixes.write([ScalarMix(3), ScalarMix(3, layer_norm=True)], folder)


def _use_translator(folder: Path) -> None:
    translator_folder.read(folder).translate_lines(["the river bank", "money"], beam=2)


def _use_combination(folder: Path) -> None:
    _use(folder / "both")


TARGETS = (
    Target("AllenNLP HDF5", partial(good_models.copy_golden, "allennlp/two_layers"), _use),
    Target("TensorFlow checkpoint", partial(good_models.copy_golden, "tf_checkpoint/model"), _use_checkpoint),
    Target("ELMoForManyLangs", partial(good_models.copy_golden, "many_langs/words_and_characters"), _use),
    Target("ELMoForManyLangs, characters", partial(good_models.copy_golden, "many_langs/characters"), _use),
    Target("model folder", good_models.write_bilm, _use),
    Target("model folder with mixes", _write_mixes, _use_mixes),
    Target("CoVe state dict", good_models.write_cove_state, _use),
    Target("CoVe folder", good_models.write_cove, _use),
    Target("translator folder", good_models.write_translator, _use_translator),
    Target("combination folder", good_models.write_combination, _use_combination),
    Target("word vectors, text", good_models.write_text_vectors, lambda folder: _use(folder / "vectors.txt")),
    Target("word vectors, binary", good_models.write_binary_vectors, lambda folder: _use(folder / "vectors.bin")),
    Target("word vectors, folder", good_models.write_vectors_folder, lambda folder: _use(folder / "vectors")),
    Target("zip of a model", good_models.write_zip, lambda folder: _use(folder / "model.zip")),
)
