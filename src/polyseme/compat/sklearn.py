"""ELMo vectors of documents as a step of a scikit-learn pipeline."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
import torch

from polyseme.arrays import Vectors
from polyseme.embed.choices import Pool
from polyseme.embed.layers import LayerChoice, check_choice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError, MissingPart
from polyseme.models.model import ModelPath
from polyseme.text.batching import checked
from polyseme.text.choices import TOKENIZERS, Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
except ModuleNotFoundError as error:
    raise MissingPart(
        "polyseme.compat.sklearn needs scikit-learn, which is not installed; pip install 'polyseme[sklearn]'"
    ) from error


class ElmoTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns every document into one vector, pooled over all its tokens.

    Nothing is learnt from the data. The model is loaded when it is first needed and left out when the transformer is
    pickled, so a path (instead of a loaded model) keeps clones and pickles small. A grid search embeds its text again
    for every fold; ``Pipeline(..., memory="cache/")`` caches the vectors.

    Args:
        model: What `polyseme.load` takes, or what it returns.
        layers: ``"mean"``, ``"top"``, a layer's number, or a `ScalarMix`.
        pool: ``"mean"`` or ``"max"`` over tokens.
        tokenize: How documents that are strings are split: ``"en"`` or ``"zh"`` for sentences of English or Chinese
            words, ``"char"`` for sentences of characters, ``"space"`` for one sentence split at whitespace. By default
            as the text was that the model learnt from, if the model records it. Leave it out for documents that are
            lists of tokens, one sentence each.
        dictionary: Words that ``"zh"`` and other tokenisers of languages without spaces keep whole.
        device: The device to compute on, if ``model`` is a path.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> classifier = make_pipeline(ElmoTransformer("english-small"), LogisticRegression())
        >>> classifier.fit(["A fine film.", "A dull one."], [1, 0]).predict(["A fine book."])
        array([1])
    """

    def __init__(
        self,
        model: ModelPath | VectorSource,
        *,
        layers: LayerChoice = "mean",
        pool: Pool = "mean",
        tokenize: Tokenizer | Literal["space"] | None = None,
        dictionary: Dictionary | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        self.model = model
        self.layers = layers
        self.pool = pool
        self.tokenize = tokenize
        self.dictionary = dictionary
        self.device = device

    def fit(self, X: object, y: object = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Load the model and check the settings; the documents are not used."""
        self._n_features_out = self._open().dim
        return self

    def transform(self, X: Iterable[str] | Iterable[Sequence[str]]) -> Vectors:  # noqa: N803
        """One vector per document, zeros for one without tokens: (documents, D)."""
        embedder = self._open()
        documents = list(self._documents(X, embedder.segmentation))
        sentences = (sentence for document in documents for sentence in document)
        vectors = embedder.stream(sentences, layers=self._choice())
        combine = np.add if self.pool == "mean" else np.maximum
        result = np.zeros((len(documents), embedder.dim), dtype=np.float32)
        for row, document in zip(result, documents, strict=True):
            tokens = 0
            for array in islice(vectors, len(document)):  # (T, D)
                if len(array):
                    part = combine.reduce(array, axis=0)
                    row[:] = combine(row, part) if tokens else part
                    tokens += len(array)
            if tokens and self.pool == "mean":
                row /= tokens
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_opened", "_opened_as")}

    def _open(self) -> VectorSource:
        """Check the settings and return the embedder, which is loaded once per model."""
        if isinstance(self.model, VectorSource):
            embedder = self.model
        else:
            wanted = (self.model, self.device)
            if getattr(self, "_opened_as", None) != wanted:
                self._opened, self._opened_as = load(self.model, device=self.device), wanted
            embedder = self._opened
        if embedder.stateful:
            raise InputError("model is a stateful embedder, whose vectors differ each time; load it without stateful")
        if self.layers == "all":
            raise InputError(
                "one vector per document is made of one layer or mix; choose 'mean', 'top' or a layer's number"
            )
        check_choice(self._choice(), embedder.layers)
        if self.pool not in ("mean", "max"):
            raise InputError(f"pool is {self.pool!r}, expected 'mean' or 'max'")
        if self.tokenize not in (None, "space", *TOKENIZERS):
            known = ", ".join(map(repr, (*TOKENIZERS, "space")))
            raise InputError(f"tokenize is {self.tokenize!r}, expected one of {known}, or None for lists of tokens")
        if self.dictionary is not None:  # raises an error if the tokeniser takes no dictionary
            Segmentation(None if self.tokenize == "space" else self.tokenize, self.dictionary)
        return embedder

    def _choice(self) -> LayerChoice:
        # A parameter grid made with numpy contains numpy's integers.
        return int(self.layers) if isinstance(self.layers, np.integer) else self.layers

    def _documents(
        self,
        X: Iterable[str] | Iterable[Sequence[str]],  # noqa: N803
        own: Segmentation,
    ) -> Iterator[list[Sequence[str]]]:
        """Return each document as a list of sentences; ``own`` is how the model's text was split."""
        if isinstance(X, str):
            raise InputError("got one string where a list of documents is expected; put it into a list")
        if hasattr(X, "columns"):
            raise InputError("got a table where a list of documents is expected; give its column of texts alone")
        rows = list(X) if isinstance(X, Iterable) else X
        if self.tokenize is None and not (rows and isinstance(rows[0], str)):
            for sentence in checked(rows):
                yield [sentence]
            return
        for number, text in enumerate(rows):
            if not isinstance(text, str):
                which = (
                    "the first is a string" if self.tokenize is None else f"tokenize={self.tokenize!r} takes strings"
                )
                raise InputError(
                    f"document {number} is a {type(text).__name__}, but {which}; give strings, or only lists of tokens "
                    "and leave tokenize out"
                )
            yield self._sentences(text, own)

    def _sentences(self, text: str, own: Segmentation) -> list[Sequence[str]]:
        if self.tokenize == "space":
            return [text.split()]
        if self.tokenize is not None:
            own = Segmentation(self.tokenize, self.dictionary)
        elif own.tokenizer is None:
            raise InputError(
                f"got the string {text[:40]!r}, but the model does not record how its text was tokenised; give "
                "tokenize=, such as tokenize='en' for English, or lists of tokens"
            )
        return [*own.sentences(text)]
