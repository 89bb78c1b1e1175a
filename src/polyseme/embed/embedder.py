"""Sentences to arrays."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polyseme.embed.choices import POOLS, Pool
from polyseme.embed.inputs import Sentences, token_lists, tokens_and_position
from polyseme.embed.language_model import LanguageModel, Substitute
from polyseme.embed.layers import LayerChoice, check_choice, choose
from polyseme.embed.word_cache import WordCache
from polyseme.errors import InputError, MissingPart
from polyseme.models.bilm import BiLM
from polyseme.models.carried_state import CarriedState
from polyseme.models.encoders import LstmEncoder
from polyseme.models.fast_lstm import FastLstm
from polyseme.models.fast_words import FastWords
from polyseme.models.model import Model
from polyseme.models.token_encoders import CharacterTokenEncoder
from polyseme.nn.choices import PRECISIONS, Precision
from polyseme.nn.packing import Packing
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.nn.versions import weights_version
from polyseme.text.batching import checked, windows
from polyseme.text.characters import Ids

Vectors = NDArray[np.float32]


class Embedder:
    """Gives every token of every sentence its vectors.

    The same sentence gets the same vectors whatever its batch, order or neighbours, unless ``stateful``.

    Args:
        model: What `polyseme.formats.detect.open_model` gives.
        precision: What the LSTMs compute in and, where kernels can, the layers between characters and LSTMs.
        stateful: Carry the state of each row of a batch to the same row of the next, as the original software did.
        batch_size: Sentences of a batch when stateful, where it matters which sentence stands in which row.
        batch_tokens: Tokens of a batch otherwise.
        cache_mib: Memory for the token vectors of words seen before.
    """

    def __init__(
        self,
        model: Model,
        *,
        precision: Precision = "float32",
        stateful: bool = False,
        batch_size: int = 64,
        batch_tokens: int = 8192,
        cache_mib: int = 256,
    ) -> None:
        if not isinstance(model, Model):
            raise InputError(f"got {model!r:.60} where an opened model is expected; use polyseme.load({model!r:.60})")
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("batch_tokens", batch_tokens, 1),
            ("cache_mib", cache_mib, 0),
        ):
            if value < least:
                raise InputError(f"{name} is {value}, expected at least {least}")
        self.model = model
        self.precision = precision
        self._bilm = _for_inference(model.bilm, precision)
        self.layers = model.bilm.layers
        self.dim = model.bilm.dim
        self.stateful = stateful
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.device = next(model.bilm.parameters()).device
        self._carried = CarriedState() if stateful else None
        self._cache = WordCache(model.bilm.projection_dim, budget_bytes=cache_mib << 20, device=self.device)
        self._version = weights_version(model.bilm.token_encoder)
        self.segmentation = model.config.segmentation

    def __repr__(self) -> str:
        facts = f"layers={self.layers}, dim={self.dim}, precision={self.precision}, stateful={self.stateful}"
        return f"Embedder({self.model.config.source}, {facts})"

    def tokenize(self, text: str) -> list[list[str]]:
        """The sentences of a raw text, each a list of tokens, cut as the text was that the model learnt from.

        Where the model does not record that (a published one), a line is a sentence and tokens stand between spaces.
        """
        if not isinstance(text, str):
            raise InputError(f"text is a {type(text).__name__}, expected one string of raw text")
        return list(map(list, token_lists(text, self.segmentation)))

    def embed(self, sentences: Sentences, *, layers: LayerChoice = "all") -> list[Vectors]:
        """The vectors of every token.

        Args:
            sentences: Lists of tokens; or one raw text, which is cut as in `tokenize`.
            layers: ``"all"``, ``"mean"``, ``"top"``, a layer's number, or a `ScalarMix`.

        Returns:
            One float32 array per sentence, in input order: (L, T, D) for ``"all"``, else (T, D).
        """
        return list(self.stream(sentences, layers=layers))

    def embed_sentences(self, sentences: Sentences, *, layers: LayerChoice = "mean", pool: Pool = "mean") -> Vectors:
        """One vector per sentence, over its own tokens and nothing else.

        Args:
            sentences: Lists of tokens, of which one without tokens gets zeros; or one raw text.
            layers: As in `embed`, but not ``"all"``.
            pool: Mean or maximum over tokens.

        Returns:
            (S, D)
        """
        if layers == "all":
            raise InputError("one vector a sentence is of one layer or mix; choose 'mean', 'top' or a layer's number")
        rows = [pool_tokens(array, pool) for array in self.stream(sentences, layers=layers)]
        return np.stack(rows) if rows else np.zeros((0, self.dim), dtype=np.float32)

    def stream(self, sentences: Sentences, *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        """As `embed`, but lazily: reads a little ahead and holds a bounded number of tokens."""
        check_choice(layers, self.layers)
        tokens = token_lists(sentences, self.segmentation)
        return self._stream_stateful(tokens, layers) if self.stateful else self._stream(tokens, layers)

    def forget_state(self) -> None:
        """Begin anew when stateful."""
        if self._carried:
            self._carried.forget()

    def score(self, sentences: Sentences) -> list[Vectors]:
        """How likely the model finds each token, given its left and given its right context.

        Args:
            sentences: Lists of tokens; or one raw text, which is cut as in `tokenize`.

        Returns:
            One (T, 2) array per sentence: forward and backward natural log-probability of each token. A word outside
            the vocabulary is scored as the unknown word. Carried state plays no part.
        """
        language_model = self._language_model()
        result: list[Vectors] = []
        tokens = token_lists(sentences, self.segmentation)
        for window in windows(tokens, batch_tokens=self.batch_tokens, window_tokens=4 * self.batch_tokens):
            scored = [np.zeros((0, 2), dtype=np.float32)] * len(window.sentences)
            for batch in window.batches:
                chosen = [window.sentences[position] for position in batch]
                top, packing = self._top(chosen)
                for position, scores in zip(batch, language_model.score(top, packing, chosen), strict=True):
                    scored[position] = scores
            result.extend(scored)
        return result

    def substitutes(
        self, sentence: str | Sequence[str], position: int | None = None, *, k: int = 10
    ) -> list[Substitute]:
        """Words the model would put in place of one token, best first.

        Args:
            sentence: A raw sentence with the word in brackets, which is cut as in `tokenize`; or its tokens.
            position: Which of the tokens, from 0.
            k: How many words.
        """
        language_model = self._language_model()
        if k < 1:
            raise InputError(f"k is {k}, expected how many words to give, at least 1")
        tokens, position = tokens_and_position(sentence, position, self.segmentation)
        top, packing = self._top([tokens])
        return language_model.substitutes(top, packing, position, k)

    def _stream(self, sentences: Iterable[Sequence[str]], layers: LayerChoice) -> Iterator[Vectors]:
        for window in windows(sentences, batch_tokens=self.batch_tokens, window_tokens=4 * self.batch_tokens):
            results: list[Vectors | None] = [None] * len(window.sentences)
            for batch in window.batches:
                arrays = self._batch([window.sentences[position] for position in batch], layers)
                for position, array in zip(batch, arrays, strict=True):
                    results[position] = array
            results.reverse()
            while results:  # hand over, do not hold on
                result = results.pop()
                yield self._no_tokens(layers) if result is None else result

    def _stream_stateful(self, sentences: Iterable[Sequence[str]], layers: LayerChoice) -> Iterator[Vectors]:
        """Batches of consecutive sentences; each row of a batch begins where that row of the last one ended."""
        source = checked(sentences)
        while batch := list(islice(source, self.batch_size)):
            yield from self._batch(batch, layers)

    @torch.inference_mode()
    def _batch(self, sentences: Sequence[Sequence[str]], layers: LayerChoice) -> list[Vectors]:
        packed, packing = self._layers(sentences, self._carried)
        if isinstance(layers, ScalarMix) and layers.layer_norm:
            # Over each sentence alone: a norm over the batch would depend on the neighbours.
            return [choose(list(torch.from_numpy(array)), layers)[0].numpy() for array in _unpack(packed, packing)]
        chosen = choose(packed, layers)
        packed.clear()
        arrays = _unpack(chosen, packing)
        return arrays if layers == "all" else [array[0] for array in arrays]

    def _layers(self, sentences: Sequence[Sequence[str]], carried: CarriedState | None) -> tuple[list[Tensor], Packing]:
        """All layers of sentences with their markers, packed."""
        places: dict[str, int] = {}
        flat: list[int] = []
        for sentence in sentences:
            flat.append(0)
            flat.extend([places.setdefault(token, len(places) + 2) for token in sentence])
            flat.append(1)
        version = weights_version(self.model.bilm.token_encoder)
        if version != self._version:  # trained further since the cache was filled
            self._cache.clear()
            self._version = version
        markers = self._encode_ids(self.model.indexer.boundaries)
        distinct = torch.cat([markers, self._cache.vectors(list(places), self._encode)])  # (2 + U, P)
        packing = Packing.of([len(sentence) + 2 for sentence in sentences], self.device)
        tokens = distinct[torch.tensor(flat, device=self.device)]  # (N, P)
        if carried is None:
            return self._bilm.contextualise(tokens, packing)[0], packing
        layers, final = self._bilm.contextualise(tokens, packing, carried.before(len(sentences)))
        carried.after(final)
        return layers, packing

    @torch.inference_mode()
    def _top(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Packing]:
        layers, packing = self._layers(sentences, None)
        return layers[-1], packing

    def _encode(self, words: list[str]) -> Tensor:
        return self._encode_ids(self.model.indexer.ids(words))

    def _encode_ids(self, ids: Ids) -> Tensor:
        return self._bilm.encode_words(torch.from_numpy(ids).to(self.device))

    def _language_model(self) -> LanguageModel:
        softmax, vocabulary = self.model.bilm.softmax, self.model.vocabulary
        if softmax is None or vocabulary is None:
            what = "softmax" if softmax is None else "vocabulary"
            raise MissingPart(
                f"the model ({self.model.config.source}) has no {what}, so it cannot say how likely a word is; "
                f"load it with {what}=..., if its makers published one"
            )
        return LanguageModel(softmax, vocabulary)

    def _no_tokens(self, layers: LayerChoice) -> Vectors:
        return np.zeros((self.layers, 0, self.dim) if layers == "all" else (0, self.dim), dtype=np.float32)


def _for_inference(bilm: BiLM, precision: Precision) -> BiLM:
    """The same network around an encoder that is faster and keeps no gradients."""
    if precision not in PRECISIONS:
        raise InputError(f"unknown precision {precision!r}; expected {', '.join(map(repr, PRECISIONS))}")
    tokens, encoder = bilm.token_encoder, bilm.encoder
    if precision != "float32" and not isinstance(encoder, LstmEncoder):
        raise InputError(f"precision {precision!r} is for LSTM encoders; this model has another, use 'float32'")
    return BiLM(
        FastWords(tokens, precision) if isinstance(tokens, CharacterTokenEncoder) else tokens,
        FastLstm(encoder, precision) if isinstance(encoder, LstmEncoder) else encoder,
        bilm.softmax,
    )


def pool_tokens(vectors: Vectors, pool: Pool) -> Vectors:
    """One vector of the tokens' vectors: (T, D) to (D,), zeros where there is no token."""
    if pool not in POOLS:
        raise InputError(f"unknown pool {pool!r}; expected {' or '.join(map(repr, POOLS))}")
    if not len(vectors):
        return np.zeros(vectors.shape[1], dtype=np.float32)
    pooled: Vectors = vectors.mean(axis=0) if pool == "mean" else vectors.max(axis=0)
    return pooled


def _unpack(layers: list[Tensor], packing: Packing) -> list[Vectors]:
    """Packed layers to one (K, T, D) array a sentence, markers left out. Empties ``layers`` as it goes."""
    rows = packing.packed_of_flat.cpu().numpy()
    results: list[Vectors] = [
        np.empty((len(layers), length - 2, layers[0].shape[1]), dtype=np.float32) for length in packing.lengths
    ]
    number = 0
    while layers:
        layer = layers.pop(0).cpu().numpy()
        start = 0
        for result, length in zip(results, packing.lengths, strict=True):
            # "clip" lets numpy write straight into the result; no row is out of range.
            np.take(layer, rows[start + 1 : start + length - 1], axis=0, out=result[number], mode="clip")
            start += length
        number += 1
    return results
