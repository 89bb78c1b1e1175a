"""AllenNLP's ELMo: `Elmo` and `batch_to_ids` of its last release, and `ElmoEmbedder` as version 0.9 had it.

One thing differs on purpose: AllenNLP carries LSTM state from batch to batch, so that the same text gets other vectors
on a second call. Here that happens only with ``stateful=True``.
"""

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.compat._elmo_bilm import _ElmoBiLm
from polyseme.compat._elmo_embedder import ElmoEmbedder
from polyseme.errors import InputError
from polyseme.nn import scalar_mix
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


class Elmo(nn.Module):
    """ELMo vectors for a task: one biLM run, and a learned mix of its layers for each output.

    ``load_state_dict`` also takes what AllenNLP's ``Elmo`` saved, alone or within a task model: its mixes
    (``scalar_mix_0.scalar_parameters.0`` and so on, ``gamma``), its biLM, fine-tuned or not, in place of the weights
    from the files, and its cached words. Options and sizes must be those of the files given here.

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
        >>> elmo = Elmo("options.json", "weights.hdf5", 1, dropout=0)
        >>> elmo(batch_to_ids([["The", "river", "bank"]]))["elmo_representations"][0].shape
        torch.Size([1, 3, 16])
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
            inputs.reshape(math.prod(front), *inputs.shape[-2:]),  # -1 would not do where there are no tokens
            None if word_inputs is None else word_inputs.reshape(math.prod(front), word_inputs.shape[-1]),
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
