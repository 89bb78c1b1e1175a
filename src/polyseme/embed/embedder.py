"""Sentences to arrays through a contextual network."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from polyseme.arrays import Vectors
from polyseme.embed.inputs import Sentences, token_lists, tokens_and_position
from polyseme.embed.language_model import LanguageModel, Substitute
from polyseme.embed.layers import LayerChoice, check_choice, choose
from polyseme.embed.source import VectorSource
from polyseme.embed.word_cache import WordCache
from polyseme.errors import InputError
from polyseme.models.carried_state import CarriedState
from polyseme.models.model import Model
from polyseme.nn.choices import Precision
from polyseme.nn.packing import Packing
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.nn.weight_changes import weights_version
from polyseme.text.batching import checked, in_input_order
from polyseme.text.characters import Ids


class Embedder(VectorSource):
    """Gives every token of every sentence its vectors in context.

    The same sentence gets the same vectors whatever its batch, order or neighbours, unless ``stateful``.

    Args:
        model: What `polyseme.formats.detect.open_model` gives.
        precision: The number type of the LSTMs and, with kernels, of the layers between characters and LSTMs.
        stateful: Carry the state of each row of a batch to the same row of the next, as the original software did.
        batch_size: Sentences per batch when stateful, where the row of a sentence matters.
        batch_tokens: Tokens per batch otherwise.
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
        network = model.network
        if stateful and not network.marks_sentences:
            raise InputError(
                f"stateful: the model ({model.config.source}) reads sentences without markers and carries no state "
                "from one to the next; leave it out"
            )
        self.model = model
        self.precision = precision
        self.layers = network.layers
        self.dim = network.dim
        self.path = model.path
        self.stateful = stateful
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.device = network.device
        self._network = network.for_inference(precision)
        self._carried = CarriedState() if stateful else None
        self._cache = WordCache(network.token_encoder.dim, budget_bytes=cache_mib << 20, device=self.device)
        self._version = weights_version(network.token_encoder)
        self.segmentation = model.segmentation

    def __repr__(self) -> str:
        details = f"layers={self.layers}, dim={self.dim}, precision={self.precision}, stateful={self.stateful}"
        return f"Embedder({self.name}, {details})"

    def fingerprint(self) -> str:
        """A short checksum of the network; two precisions of one network have the same."""
        return self.model.fingerprint()

    def stream(self, sentences: Sentences, *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        """The vectors of every token, lazily; see `VectorSource`."""
        check_choice(layers, self.layers)
        tokens = token_lists(sentences, self.segmentation)
        if self.stateful:
            return self._stream_stateful(tokens, layers)
        return in_input_order(
            tokens,
            lambda batch: self._batch(batch, layers),
            batch_tokens=self.batch_tokens,
            without_tokens=lambda: self._no_tokens(layers),
        )

    def forget_state(self) -> None:
        """Forget what was carried from earlier batches."""
        if self._carried:
            self._carried.forget()

    def score(self, sentences: Sentences) -> list[Vectors]:
        """How likely the model finds each token, given its left and given its right context.

        Args:
            sentences: Lists of tokens; or one raw text, which is tokenised as in `tokenize`.

        Returns:
            One (T, 2) array per sentence: forward and backward natural log-probability of each token. A word outside
            the vocabulary is scored as the unknown word. State carried from earlier batches is not used.
        """
        language_model = self._language_model()

        def scores(batch: list[Sequence[str]]) -> list[Vectors]:
            top, packing = self._top(batch)
            return language_model.score(top, packing, batch)

        return list(
            in_input_order(
                token_lists(sentences, self.segmentation),
                scores,
                batch_tokens=self.batch_tokens,
                without_tokens=lambda: np.zeros((0, 2), dtype=np.float32),
            )
        )

    def substitutes(
        self, sentence: str | Sequence[str], position: int | None = None, *, k: int = 10
    ) -> list[Substitute]:
        """The words that the model would put in place of one token, best first.

        Args:
            sentence: A raw sentence with the word in brackets, tokenised as in `tokenize`; or its tokens.
            position: Which of the tokens, from 0.
            k: How many words.
        """
        language_model = self._language_model()
        if k < 1:
            raise InputError(f"k is {k}, expected how many words to give, at least 1")
        tokens, position = tokens_and_position(sentence, position, self.segmentation)
        top, packing = self._top([tokens])
        return language_model.substitutes(top, packing, position, k)

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
            arrays = self._unpack(packed, packing)
            return [choose(list(torch.from_numpy(array)), layers)[0].numpy() for array in arrays]
        chosen = choose(packed, layers)
        packed.clear()
        arrays = self._unpack(chosen, packing)
        return arrays if layers == "all" else [array[0] for array in arrays]

    def _layers(self, sentences: Sequence[Sequence[str]], carried: CarriedState | None) -> tuple[list[Tensor], Packing]:
        """All layers of sentences, packed, with their markers if the network wants them."""
        markers = 2 if self._network.marks_sentences else 0
        rows: dict[str, int] = {}  # of the distinct words, after those of the markers
        flat: list[int] = []
        for sentence in sentences:
            tokens = [rows.setdefault(token, len(rows) + markers) for token in sentence]
            flat += [0, *tokens, 1] if markers else tokens
        version = weights_version(self.model.network.token_encoder)
        if version != self._version:  # the model was trained further since the cache was filled
            self._cache.clear()
            self._version = version
        distinct = self._cache.vectors(list(rows), self._encode)  # (U, P)
        if markers:
            distinct = torch.cat([self._encode_ids(self.model.indexer.boundaries), distinct])  # (2 + U, P)
        packing = Packing.of([len(sentence) + markers for sentence in sentences], self.device)
        vectors = distinct[torch.tensor(flat, device=self.device)]  # (N, P)
        if carried is None:
            return self._network.contextualise(vectors, packing)[0], packing
        layers, final = self._network.contextualise(vectors, packing, carried.before(len(sentences)))
        carried.after(final)
        return layers, packing

    @torch.inference_mode()
    def _top(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Packing]:
        layers, packing = self._layers(sentences, None)
        return layers[-1], packing

    def _encode(self, words: list[str]) -> Tensor:
        return self._encode_ids(self.model.indexer.ids(words))

    def _encode_ids(self, ids: Ids) -> Tensor:
        return self._network.encode_words(torch.from_numpy(ids).to(self.device))

    def _language_model(self) -> LanguageModel:
        softmax, vocabulary = self.model.output_layer(
            consequence="it cannot say how likely a word is",
            advice="give the file that contains it with softmax= or vocabulary=, if its makers published one",
        )
        return LanguageModel(softmax, vocabulary)

    def _no_tokens(self, layers: LayerChoice) -> Vectors:
        return np.zeros((self.layers, 0, self.dim) if layers == "all" else (0, self.dim), dtype=np.float32)

    def _unpack(self, layers: list[Tensor], packing: Packing) -> list[Vectors]:
        """Packed layers to one (K, T, D) array per sentence, without markers. Empties ``layers`` as it goes."""
        edge = 1 if self._network.marks_sentences else 0
        rows = packing.packed_of_flat.cpu().numpy()
        results: list[Vectors] = [
            np.empty((len(layers), length - 2 * edge, layers[0].shape[1]), dtype=np.float32)
            for length in packing.lengths
        ]
        number = 0
        while layers:
            layer = layers.pop(0).cpu().numpy()
            start = 0
            for result, length in zip(results, packing.lengths, strict=True):
                # "clip" lets numpy write straight into the result; no row is out of range.
                np.take(layer, rows[start + edge : start + length - edge], axis=0, out=result[number], mode="clip")
                start += length
            number += 1
        return results
