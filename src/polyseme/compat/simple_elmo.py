"""`ElmoModel` with the interface that simple_elmo documents, without TensorFlow.

Three things differ on purpose. simple_elmo carries LSTM state from batch to batch, so that vectors depend on what ran
before; here the same sentence always gets the same vectors. Its sentence averages include the padding of shorter
sentences; here only a sentence's own tokens count. And a string instead of a list of tokens is an error.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np
import torch
from torch import nn

from polyseme.arrays import Vectors
from polyseme.embed.embedder import Embedder
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError, MissingPart
from polyseme.nn.softmax import FullSoftmax
from polyseme.text.batching import checked
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE
from polyseme.text.vocabulary import Vocabulary

Layers = Literal["average", "top", "all"]
_CHOICES: dict[str, Literal["mean", "top", "all"]] = {"average": "mean", "top": "top", "all": "all"}
_CHUNK_TOKENS = 32
"""Number of tokens whose logits are computed at a time, to bound memory: a vocabulary may have a million words."""


class Predictions(TypedDict):
    """The words that one direction finds most probable at a position, best first."""

    ids: list[int]
    words: list[str]
    logits: list[float]


class TokenSubstitutes(TypedDict):
    """Words that could replace a token."""

    word: str
    forward: Predictions
    backward: Predictions


class ElmoModel:
    """A pre-trained ELMo with the interface of simple_elmo.

    Example:
        >>> model = ElmoModel()
        >>> model.load("english-small")
        >>> model.get_elmo_vectors([["The", "river", "bank"], ["Yes"]]).shape
        (2, 3, 256)
    """

    def __init__(self) -> None:
        self._model: Embedder | None = None

    def load(self, directory: str | Path, max_batch_size: int = 32, limit: int = 100, full: bool = False) -> None:
        """Load a model of any format that `polyseme.load` knows.

        Args:
            directory: A folder with ``options.json`` and weights, the zip it came in, or a weights file. Of several
                HDF5 files in a folder, ``model.hdf5`` is taken.
            max_batch_size: Accepted and not used: batches have a bounded number of tokens, whatever their number of
                sentences.
            limit: Accepted and not used: the vectors of words seen before are always cached.
            full: Also load the language model, from a TensorFlow checkpoint or an HDF5 file with a softmax, and the
                vocabulary in the same folder.
        """
        path = Path(directory)
        wanted = "checkpoint" if full and (path / "checkpoint").is_file() else "model.hdf5"
        self._model = load_embedder(
            path / wanted if (path / wanted).is_file() else path,
            device="cuda" if torch.cuda.is_available() else "cpu",
        )
        if full:
            self._language_model()

    def get_elmo_vectors(
        self,
        texts: Iterable[Sequence[str]],
        warmup: bool = True,
        layers: Layers = "average",
        session: object = None,
    ) -> Vectors:
        """The vectors of every token; shorter sentences are padded with zeros.

        Args:
            texts: Lists of tokens.
            warmup: Accepted and not used: there is no state to warm up.
            layers: The ``"average"`` of all layers, the ``"top"`` one, or ``"all"``.
            session: Accepted and not used: there is no TensorFlow.

        Returns:
            (S, T, D), or (S, L, T, D) for ``"all"``: S sentences, T tokens of the longest.
        """
        model, choice = self._loaded(), _choice(layers)
        arrays = model.embed(texts, layers=choice)
        longest = max((array.shape[-2] for array in arrays), default=0)
        front = (len(arrays), model.layers) if choice == "all" else (len(arrays),)
        padded = np.zeros((*front, longest, model.dim), dtype=np.float32)
        for row, array in zip(padded, arrays, strict=True):
            row[..., : array.shape[-2], :] = array
        return padded

    def get_elmo_vector_average(
        self,
        texts: Iterable[Sequence[str]],
        warmup: bool = True,
        layers: Layers = "average",
        session: object = None,
    ) -> Vectors:
        """One vector per sentence: the mean over its own tokens, zeros if it has none.

        Args:
            texts: Lists of tokens.
            warmup: Accepted and not used: there is no state to warm up.
            layers: As in `get_elmo_vectors`.
            session: Accepted and not used: there is no TensorFlow.

        Returns:
            (S, D), or (S, L, D) for ``"all"``.
        """
        model, choice = self._loaded(), _choice(layers)
        arrays = model.stream(texts, layers=choice)
        means = [array.sum(axis=-2) / np.float32(max(array.shape[-2], 1)) for array in arrays]
        shape = (0, model.layers, model.dim) if choice == "all" else (0, model.dim)
        return np.stack(means) if means else np.zeros(shape, dtype=np.float32)

    def get_elmo_substitutes(
        self, raw_texts: Iterable[str | Sequence[str]], topn: int = 3
    ) -> list[list[TokenSubstitutes]]:
        """Words that could replace each token: what the language model predicts from either side.

        ``forward`` is predicted from the tokens before, ``backward`` from those after; neither has seen the token
        itself. The model must have been loaded with ``full=True``. simple_elmo documents what these dictionaries
        contain but not their keys, nor how to request more words: these names are our own.

        Args:
            raw_texts: Sentences as strings, split at whitespace, or as lists of tokens.
            topn: Number of predictions per direction; sentence markers and the unknown word are left out.

        Returns:
            For each sentence, for each token: ``word``, and under ``forward`` and ``backward`` the ``ids``, ``words``
            and ``logits`` of the predictions, best first.
        """
        softmax, vocabulary = self._language_model()
        if topn < 1:
            raise InputError(f"topn is {topn}, expected at least 1")
        split = (text.split() if isinstance(text, str) else text for text in raw_texts)
        return [
            self._substitutes(sentence, softmax, vocabulary, topn)
            for sentence in checked(raw_texts if isinstance(raw_texts, str) else split)
        ]

    @torch.inference_mode()
    def _substitutes(
        self, sentence: Sequence[str], softmax: FullSoftmax, vocabulary: Vocabulary, topn: int
    ) -> list[TokenSubstitutes]:
        embedder = self._loaded()
        indexer, bilm = embedder.model.indexer, embedder.model.bilm
        begin, end = np.split(indexer.boundaries, 2)
        ids = torch.from_numpy(np.concatenate([begin, indexer.ids(sentence), end])).to(embedder.device)  # (T + 2, W)
        top = bilm(ids.unsqueeze(0), torch.tensor([len(ids)], device=embedder.device))[-1, 0]  # (T + 2, D)
        forward, backward = top.chunk(2, dim=1)
        # A token is predicted by the forward state before it and the backward state after it.
        sides = [_predictions(states, softmax, vocabulary, topn) for states in (forward[:-2], backward[2:])]
        return [
            TokenSubstitutes(word=word, forward=ahead, backward=back)
            for word, ahead, back in zip(sentence, *sides, strict=True)
        ]

    def _loaded(self) -> Embedder:
        if self._model is None:
            raise InputError("no model is loaded; call load(...) with a model's folder first")
        return self._model

    def _language_model(self) -> tuple[FullSoftmax, Vocabulary]:
        model = self._loaded().model
        softmax, vocabulary = model.output_layer(
            consequence="it cannot predict words",
            advice="load a folder that holds a TensorFlow checkpoint and vocab.txt with full=True",
        )
        if not isinstance(softmax, FullSoftmax):
            raise MissingPart(
                f"the model ({model.config.source}) has an adaptive softmax, which has no logit of every word; "
                "use polyseme.load(...).substitutes"
            )
        return softmax, vocabulary


def _choice(layers: Layers) -> Literal["mean", "top", "all"]:
    if layers not in _CHOICES:
        raise InputError(f"layers is {layers!r}, expected 'average', 'top' or 'all'")
    return _CHOICES[layers]


def _predictions(states: torch.Tensor, softmax: FullSoftmax, vocabulary: Vocabulary, topn: int) -> list[Predictions]:
    """The best words after each state (N, P)."""
    markers = {vocabulary.unknown, *(vocabulary.ids.get(marker) for marker in (BEGIN_SENTENCE, END_SENTENCE))} - {None}
    found: list[Predictions] = []
    for some in states.split(_CHUNK_TOKENS):
        logits = nn.functional.linear(some, softmax.weight, softmax.bias)  # (tokens, V)
        logits[:, sorted(markers)] = -torch.inf
        best = logits.topk(min(topn, len(vocabulary) - len(markers)), dim=1)
        for values, ids in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            found.append(Predictions(ids=ids, words=[vocabulary.words[index] for index in ids], logits=values))
    return found
