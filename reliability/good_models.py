"""Small models and data, written as good files of every format of polyseme's own."""

import random
import shutil
import zipfile
from pathlib import Path

import numpy as np
import torch

from polyseme.embed.combine import combine
from polyseme.embed.load import load
from polyseme.formats import cove_folder, cove_state, native, translator_folder, word_vectors
from polyseme.formats.word_vectors import folder as vectors_folder
from polyseme.formats.word_vectors import text_writer, word2vec_writer
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig, LstmEncoderConfig
from polyseme.models.model import Model
from polyseme.models.mt_lstm import cove_model
from polyseme.models.static import WordVectors
from polyseme.models.translation import TranslationModel
from polyseme.models.translator import Translator
from polyseme.nn.bilstm import BiLstm
from polyseme.text.characters import ByteCharacters
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import Vocabulary

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
"""Small files that the software of other formats wrote."""
WORDS = ("<S>", "</S>", "<UNK>", "the", "river", "bank", "money", "of", "play", "a")
SENTENCES = (["the", "river", "bank"], ["money"], ["a", "play", "of", "the", "bank"], ["Zürich", "的", "x" * 60])


def tiny_model() -> Model:
    """A biLM with random weights and a softmax over `WORDS`."""
    config = BiLMConfig(
        projection_dim=6,
        token_encoder=CharacterEncoderConfig(
            alphabet="bytes",
            characters=262,
            character_dim=4,
            filters=((1, 4), (2, 6), (3, 5)),
            highway_layers=1,
            padding_id=261,
        ),
        encoder=LstmEncoderConfig(layers=2, hidden_dim=10, cell_clip=1.0, projection_clip=1.0, skip_connections=True),
        vocabulary_size=len(WORDS),
    )
    torch.manual_seed(0)
    bilm = BiLM.from_config(config).eval().requires_grad_(False)
    return Model(config, bilm, ByteCharacters(), Vocabulary(WORDS))


def tiny_vectors(dim: int = 4) -> WordVectors:
    """Static vectors of a few words."""
    words = (*WORDS[3:], "New York", "Zürich", "的")
    return WordVectors(words, np.random.default_rng(1).normal(size=(len(words), dim)).astype(np.float32))


def tiny_cove() -> Model:
    """A CoVe model with random weights."""
    torch.manual_seed(5)
    lstm = BiLstm(input_dim=4, hidden_dim=4, layers=2).eval().requires_grad_(False)
    table = tiny_vectors()
    return cove_model(table.words, torch.from_numpy(np.array(table.matrix)), lstm, case_backoff=False)


def write_bilm(folder: Path) -> None:
    """A folder of polyseme's own format."""
    folder.rmdir()
    native.write(tiny_model(), folder)


def write_cove(folder: Path) -> None:
    """A CoVe model as a folder."""
    folder.rmdir()
    cove_folder.write(tiny_cove(), folder)


def write_cove_state(folder: Path) -> None:
    """A CoVe model as torch saves it, with its word vectors beside it."""
    folder.rmdir()
    cove_state.write(tiny_cove(), folder)


def write_translator(folder: Path) -> None:
    """A translator with random weights."""
    folder.rmdir()
    torch.manual_seed(3)
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "uno", "dos", "tres"])
    network = Translator(vector_dim=4, encoder_dim=4, encoder_layers=2, decoder_dim=6, vocabulary_size=len(vocabulary))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    segmentation = Segmentation("en")
    model = TranslationModel(network.eval(), tiny_vectors(), vocabulary, segmentation, segmentation)
    translator_folder.write(model, folder)


def write_combination(folder: Path) -> None:
    """Static vectors and a biLM as one."""
    (folder / "bilm").mkdir()
    write_bilm(folder / "bilm")
    text_writer.write(tiny_vectors(), folder / "vectors.txt")
    combine(load(folder / "vectors.txt"), load(folder / "bilm")).save(folder / "both")


def write_text_vectors(folder: Path) -> None:
    """Static vectors as text."""
    text_writer.write(tiny_vectors(), folder / "vectors.txt")


def write_binary_vectors(folder: Path) -> None:
    """Static vectors in word2vec's binary format."""
    table = tiny_vectors()
    keep = [row for row, word in enumerate(table.words) if " " not in word]
    plain = WordVectors([table.words[row] for row in keep], np.asarray(table.matrix)[keep])
    word2vec_writer.write(plain, folder / "vectors.bin", binary=True)


def write_vectors_folder(folder: Path) -> None:
    """Static vectors as a folder that is mapped into memory."""
    vectors_folder.write(word_vectors.read(_text(folder)), folder / "vectors")
    (folder / "vectors.txt").unlink()


def _text(folder: Path) -> Path:
    write_text_vectors(folder)
    return folder / "vectors.txt"


def write_zip(folder: Path) -> None:
    """A biLM of AllenNLP's format in a zip."""
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        for number, path in enumerate(sorted((GOLDEN / "allennlp" / "two_layers").iterdir())):
            archive.write(path, f"model/{path.name}", (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[number % 2])


def copy_golden(name: str, folder: Path) -> None:
    """Files that other software wrote."""
    shutil.copytree(GOLDEN / name, folder, dirs_exist_ok=True)


def write_text(path: Path, sentences: int, seed: int = 0) -> Path:
    """Sentences of a few words, one per line."""
    draw = random.Random(seed)
    words = WORDS[3:]
    lines = [" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(sentences)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
