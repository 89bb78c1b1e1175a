"""AllenNLP's ELMo: `Elmo` and `batch_to_ids` of its last release, and `ElmoEmbedder` as version 0.9 had it.

One thing differs on purpose: AllenNLP carries LSTM state from batch to batch, so that the same text gets other vectors
on a second call. Here that happens only with ``stateful=True``.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.compat._elmo_embedder import ElmoEmbedder
from polyseme.errors import InputError
from polyseme.formats.detect import open_model
from polyseme.models.bilm import BiLM
from polyseme.models.carried_state import CarriedState
from polyseme.nn import scalar_mix
from polyseme.nn.packing import Packing
from polyseme.text.batching import checked
from polyseme.text.characters import ByteCharacters

__all__ = ["Elmo", "ElmoEmbedder", "ScalarMix", "batch_to_ids"]

logger = logging.getLogger(__name__)


def batch_to_ids(batch: Sequence[Sequence[str]]) -> Tensor:
    """The character ids of sentences, padded with zeros: (B, T, 50).

    Example:
        >>> batch_to_ids([["The", "river", "bank"], ["Yes"]]).shape
        torch.Size([2, 3, 50])
    """
    sentences = list(checked(batch))
    places: dict[str, int] = {}
    longest = max(map(len, sentences), default=0)
    which = torch.zeros(len(sentences), longest, dtype=torch.long)  # (B, T); 0 is padding
    for row, sentence in enumerate(sentences):
        which[row, : len(sentence)] = torch.tensor(
            [places.setdefault(token, len(places) + 1) for token in sentence], dtype=torch.long
        )
    characters = ByteCharacters()
    distinct = torch.from_numpy(characters.ids(list(places)))  # (U, 50)
    return torch.cat([distinct.new_zeros(1, characters.width), distinct])[which]


class ScalarMix(scalar_mix.ScalarMix):
    """`polyseme.ScalarMix` under AllenNLP's argument names."""

    def __init__(
        self,
        mixture_size: int,
        do_layer_norm: bool = False,
        initial_scalar_parameters: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__(
            mixture_size, layer_norm=do_layer_norm, initial_weights=initial_scalar_parameters, trainable=trainable
        )

    @property
    def scalar_parameters(self) -> list[Tensor]:
        """One view (1,) of the weights a layer."""
        return list(self.weights.split(1))


class _ElmoBiLm(nn.Module):
    """All layers of a biLM for character ids, sentence markers included.

    Args:
        options_file: ``options.json``; None where ``weight_file`` is a model of any format that `load` takes.
        weight_file: ``weights.hdf5``.
        requires_grad: Whether the biLM learns with the task.
        vocab_to_cache: Words whose token vectors are computed once; ``word_inputs`` are positions in this list.
        stateful: Carry state from batch to batch, as AllenNLP does.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path,
        requires_grad: bool = False,
        vocab_to_cache: Sequence[str] | None = None,
        *,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        model = open_model(weight_file if options_file is None else (options_file, weight_file))
        if not isinstance(model.indexer, ByteCharacters):
            raise InputError(
                f"{weight_file}: a {model.config.source} model does not read byte characters, so batch_to_ids cannot "
                "feed it; use polyseme.load(...).embed(sentences)"
            )
        self.bilm: BiLM = model.bilm.requires_grad_(requires_grad)
        self._indexer = model.indexer
        self.register_buffer("_markers", torch.from_numpy(model.indexer.boundaries), persistent=False)  # (2, C)
        self._carried = CarriedState() if stateful else None
        self._cached: nn.Embedding | None = None
        if vocab_to_cache:
            self.create_cached_cnn_embeddings(vocab_to_cache)

    @property
    def num_layers(self) -> int:
        """Layers, the token layer included."""
        return self.bilm.layers

    def get_output_dim(self) -> int:
        """Width of a layer."""
        return self.bilm.dim

    @torch.no_grad()
    def create_cached_cnn_embeddings(self, tokens: Sequence[str]) -> None:
        """Compute the token vectors of words once; `forward` then takes their positions as ``word_inputs``."""
        ids = torch.from_numpy(self._indexer.ids(list(tokens))).to(self._marker_rows.device)
        learns = any(parameter.requires_grad for parameter in self.bilm.parameters())
        self._cached = nn.Embedding.from_pretrained(self.bilm.encode_words(ids), freeze=not learns)

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Any]:
        """Run the biLM.

        Args:
            inputs: (B, T, 50) character ids, zeros at padding.
            word_inputs: (B, T) positions in ``vocab_to_cache``, 0 at padding.

        Returns:
            ``activations``, one (B, T + 2, D) a layer with the markers in place, and ``mask`` (B, T + 2).
        """
        if self._cached is not None and word_inputs is not None and word_inputs.max() < self._cached.num_embeddings:
            mask: Tensor = word_inputs.gt(0)
            flat: Tensor = self._cached(word_inputs[mask])  # (N, P) without markers
        else:  # as AllenNLP: one word outside the cache sends the whole batch through its characters
            mask = (inputs > 0).any(dim=-1)
            flat = self.bilm.encode_tokens(inputs[mask])
        sizes: list[int] = mask.sum(dim=1).tolist()
        length = mask.shape[1] + 2
        if not sizes:
            nothing = flat.new_zeros(0, length, self.bilm.dim)
            return {"activations": [nothing] * self.bilm.layers, "mask": mask.new_zeros(0, length)}
        begin, end = self.bilm.encode_words(self._marker_rows).split(1)  # (1, P) each
        # A row without tokens still has its two markers.
        tokens = torch.cat([part for piece in flat.split(sizes) for part in (begin, piece, end)])  # (N, P)
        packing = Packing.of([size + 2 for size in sizes], tokens.device)
        if self._carried is None:
            layers, _ = self.bilm.contextualise(tokens, packing)
        else:
            layers, final = self.bilm.contextualise(tokens, packing, self._carried.before(len(sizes)))
            self._carried.after(final)
        with_markers = torch.arange(length, device=mask.device) < mask.sum(dim=1, keepdim=True) + 2  # (B, T + 2)
        padded = tokens.new_zeros(len(sizes), length, self.bilm.dim)
        place = with_markers.unsqueeze(-1)
        activations = [padded.masked_scatter(place, layer[packing.packed_of_flat]) for layer in layers]
        return {"activations": activations, "mask": with_markers}

    @property
    def _marker_rows(self) -> Tensor:
        return self.get_buffer("_markers")


class Elmo(nn.Module):
    """ELMo vectors for a task: one biLM run, and a learned mix of its layers for each output.

    Args:
        options_file: ``options.json``; None where ``weight_file`` is a model of any format that `load` takes.
        weight_file: ``weights.hdf5``.
        num_output_representations: How many mixes to learn: 1 for a task's input, 2 for its input and output.
        requires_grad: Whether the biLM learns with the task.
        do_layer_norm: Normalise layers before mixing.
        dropout: On the mixed vectors, while training.
        vocab_to_cache: Words whose token vectors are computed once.
        keep_sentence_boundaries: Leave the sentence markers in the output.
        scalar_mix_parameters: A fixed mix in place of a learned one.
        module: A biLM already loaded, in place of the two files.
        stateful: Carry state from batch to batch, as AllenNLP does.

    Example:
        >>> elmo = Elmo("options.json", "weights.hdf5", 1, dropout=0)  # doctest: +SKIP
        >>> elmo(batch_to_ids([["The", "river", "bank"]]))["elmo_representations"][0].shape  # doctest: +SKIP
        torch.Size([1, 3, 1024])
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        num_output_representations: int = 1,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: nn.Module | None = None,
        *,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        if module is not None:
            if options_file is not None or weight_file is not None:
                raise InputError("got a module and files; give module, or options_file and weight_file, not both")
            self._elmo_lstm: Any = module
        elif weight_file is None:
            raise InputError("no weight_file given; expected options_file and weight_file, or module")
        else:
            self._elmo_lstm = _ElmoBiLm(options_file, weight_file, requires_grad, vocab_to_cache, stateful=stateful)
        self._has_cached_vocab = vocab_to_cache is not None
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._dropout = nn.Dropout(dropout)
        self._scalar_mixes: list[ScalarMix] = []
        for number in range(num_output_representations):
            mix = ScalarMix(
                self._elmo_lstm.num_layers,
                do_layer_norm=do_layer_norm,
                initial_scalar_parameters=scalar_mix_parameters,
                trainable=scalar_mix_parameters is None,
            )
            self.add_module(f"scalar_mix_{number}", mix)
            self._scalar_mixes.append(mix)

    def get_output_dim(self) -> int:
        """Width of an ELMo vector."""
        return int(self._elmo_lstm.get_output_dim())

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Any]:
        """ELMo vectors of a batch.

        Args:
            inputs: (B, T, 50) character ids; more dimensions in front are kept.
            word_inputs: (B, T) positions in ``vocab_to_cache``.

        Returns:
            ``elmo_representations``, one (B, T, D) a mix, and ``mask`` (B, T).
        """
        if word_inputs is not None and not self._has_cached_vocab:
            logger.warning("word_inputs were given, but no vocab_to_cache; they are ignored")
            word_inputs = None
        front = inputs.shape[:-2]
        output = self._elmo_lstm(
            inputs.reshape(-1, *inputs.shape[-2:]),
            None if word_inputs is None else word_inputs.reshape(-1, word_inputs.shape[-1]),
        )
        mask: Tensor = output["mask"]
        mixed = [mix(output["activations"], mask) for mix in self._scalar_mixes]
        if not self._keep_sentence_boundaries:
            # Markers stand first and last in a row, so dropping them shifts the tokens one place to the left.
            inner = mask[:, 2:]
            mixed = [representation[:, 1:-1] * inner.unsqueeze(-1) for representation in mixed]
            mask = inner
        return {
            "elmo_representations": [
                self._dropout(representation).reshape(*front, *representation.shape[1:]) for representation in mixed
            ],
            "mask": mask.reshape(*front, mask.shape[-1]),
        }
