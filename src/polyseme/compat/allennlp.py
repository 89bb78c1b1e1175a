"""AllenNLP's ELMo: `Elmo` and `batch_to_ids` of its last release, and `ElmoEmbedder` of version 0.9.

One thing differs on purpose: AllenNLP carries LSTM state from batch to batch, so that the same text gets different
vectors on a second call. Here that happens only with ``stateful=True``.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from torch import Tensor

from polyseme.compat._elmo_bilm import ElmoBiLm
from polyseme.compat._elmo_embedder import ElmoEmbedder
from polyseme.errors import InputError
from polyseme.files.lock import locked
from polyseme.formats import native
from polyseme.formats.allennlp_state import State, join_scalar_parameters, rename_network
from polyseme.formats.detect import open_model
from polyseme.models import elmo
from polyseme.models.elmo_layers import ElmoLayers, padded_ids
from polyseme.models.model import Model
from polyseme.nn import scalar_mix
from polyseme.text.characters import ByteCharacters

__all__ = ["Elmo", "ElmoEmbedder", "ScalarMix", "batch_to_ids"]

_ElmoBiLm = ElmoBiLm  # as AllenNLP names it
logger = logging.getLogger(__name__)


def batch_to_ids(batch: Sequence[Sequence[str]]) -> Tensor:
    """The character ids of sentences for a model of bytes, padded with zeros: (B, T, 50).

    For a model of another kind use the method ``ids`` of its `Elmo`.

    Example:
        >>> batch_to_ids([["The", "river", "bank"], ["Yes"]]).shape
        torch.Size([2, 3, 50])
    """
    return padded_ids(ByteCharacters(), batch)


class ScalarMix(scalar_mix.ScalarMix):
    """`polyseme.ScalarMix` with AllenNLP's argument names; can also load what AllenNLP's class saved."""

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

    @classmethod
    def like(cls, mix: scalar_mix.ScalarMix) -> "ScalarMix":
        """A mix with the weights of another."""
        made = cls(len(mix.weights), mix.layer_norm)
        made.load_state_dict(mix.state_dict())
        return made

    @property
    def scalar_parameters(self) -> list[Tensor]:
        """The weight of each layer, a view (1,)."""
        return list(self.weights.split(1))

    def _load_from_state_dict(
        self, state_dict: State, prefix: str, metadata: object, strict: bool, *lists: list[str]
    ) -> None:
        """Read what AllenNLP saved as well as what this class saves."""
        join_scalar_parameters(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, *lists)


class ElmoRepresentations(TypedDict):
    """What AllenNLP's `Elmo` returns."""

    elmo_representations: list[Tensor]
    """One (B, T, D) per mix."""
    mask: Tensor
    """(B, T)"""


class Elmo(elmo.Elmo):
    """ELMo vectors for a task: one run of the biLM, and a learned mix of its layers for each output.

    ``load_state_dict`` also takes what AllenNLP's ``Elmo`` saved, alone or within a task model: its mixes
    (``scalar_mix_0.scalar_parameters.0`` and so on, ``gamma``), its biLM, fine-tuned or not, in place of the weights
    from the files, and its cached words. Options and sizes must be those of the files given here.

    Args:
        options_file: ``options.json``, with its ``weight_file``. Or alone: the name of a bundled model, the path of a
            model of any format that `polyseme.load` takes, a folder written by `save`, or an opened `Model`.
        weight_file: ``weights.hdf5``.
        num_output_representations: How many mixes to learn: 1 for a task's input, 2 for its input and output. By
            default the mixes stored by `save`, or one.
        requires_grad: Whether the biLM is trained with the task.
        do_layer_norm: Normalise layers before mixing; mixes stored by `save` keep their own setting.
        dropout: Dropout on the mixed vectors, in training.
        vocab_to_cache: Words whose token vectors are computed once.
        keep_sentence_boundaries: Leave the sentence markers in the output.
        scalar_mix_parameters: A fixed mix instead of a learned one.
        module: A biLM that is already loaded, instead of the two files.
        stateful: Carry state from batch to batch, as AllenNLP does.

    Example:
        >>> elmo = Elmo("options.json", "weights.hdf5", 1, dropout=0)
        >>> elmo(batch_to_ids([["The", "river", "bank"]]))["elmo_representations"][0].shape
        torch.Size([1, 3, 16])
        >>> elmo = Elmo("english-small")
        >>> elmo(elmo.ids([["The", "river", "bank"]]))["elmo_representations"][0].shape
        torch.Size([1, 3, 256])
    """

    def __init__(
        self,
        options_file: str | Path | Model | None = None,
        weight_file: str | Path | None = None,
        num_output_representations: int | None = None,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: ElmoBiLm | None = None,
        *,
        stateful: bool = False,
    ) -> None:
        if module is None:
            model = _opened(options_file, weight_file)
            encoder = ElmoLayers(model, requires_grad=requires_grad, cached_words=vocab_to_cache, stateful=stateful)
        elif options_file is not None or weight_file is not None:
            raise InputError("got a module and files; give module, or options_file and weight_file, not both")
        else:
            encoder = module.encoder
        super().__init__(
            encoder,
            _mixes(encoder, num_output_representations, do_layer_norm, scalar_mix_parameters),
            dropout=dropout,
            keep_boundaries=keep_sentence_boundaries,
        )
        self._has_cached_vocab = vocab_to_cache is not None

    @property
    def _elmo_lstm(self) -> ElmoBiLm:
        """The biLM with AllenNLP's interface: character ids to ``activations``."""
        return ElmoBiLm.around(self.encoder)

    def get_output_dim(self) -> int:
        """The length of an ELMo vector."""
        return self.dim

    def forward(  # type: ignore[override]  # AllenNLP returns a dictionary
        self, inputs: Tensor, word_inputs: Tensor | None = None
    ) -> ElmoRepresentations:
        """ELMo vectors of a batch.

        Args:
            inputs: (B, T, 50) character ids; more dimensions in front are kept.
            word_inputs: (B, T) positions in ``vocab_to_cache``.

        Returns:
            ``elmo_representations``, one (B, T, D) per mix, and ``mask`` (B, T).
        """
        if word_inputs is not None and not self._has_cached_vocab:
            logger.warning("word_inputs were given, but no vocab_to_cache; they are ignored")
            word_inputs = None
        vectors, mask = super().forward(inputs, word_inputs)
        return ElmoRepresentations(elmo_representations=vectors, mask=mask)

    def save(self, folder: str | Path) -> None:
        """Write the biLM with its current weights and its mixes as a new model folder.

        ``polyseme.load(folder)`` embeds with this biLM, and ``Elmo(folder)`` has its mixes again. The softmax is left
        out, because it was trained for the biLM before fine-tuning.
        """
        with locked(Path(folder)):
            native.write(self.as_model(), Path(folder))

    def _load_from_state_dict(
        self, state_dict: State, prefix: str, metadata: object, strict: bool, *lists: list[str]
    ) -> None:
        """Read what AllenNLP saved as well as what this class saves."""
        rename_network(state_dict, f"{prefix}_elmo_lstm.", f"{prefix}encoder.", self.encoder.network)
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, *lists)


def _opened(options_file: str | Path | Model | None, weight_file: str | Path | None) -> Model:
    if weight_file is not None and not isinstance(weight_file, str | Path):
        raise InputError(
            f"weight_file is {weight_file!r}, expected a path; the number of mixes is num_output_representations="
        )
    if isinstance(options_file, Model):
        if weight_file is not None:
            raise InputError(f"{weight_file}: got a model and a weight_file; give one of them")
        return options_file
    if weight_file is not None:
        return open_model(weight_file if options_file is None else (options_file, weight_file))
    if options_file is None:
        raise InputError("no model given; expected a model's name or path, options_file and weight_file, or module")
    return open_model(options_file)


def _mixes(encoder: ElmoLayers, count: int | None, layer_norm: bool, fixed: Sequence[float] | None) -> list[ScalarMix]:
    """The mixes that were saved with the model, unless others are requested."""
    stored = encoder.model.mixes
    if stored and fixed is None:
        if count not in (None, len(stored)):
            raise InputError(
                f"{encoder.model.path or 'the model'}: {len(stored)} mixes were saved with it, but "
                f"num_output_representations is {count}; leave it out"
            )
        return [ScalarMix.like(mix) for mix in stored]
    return [
        ScalarMix(encoder.network.layers, layer_norm, fixed, trainable=fixed is None)
        for _ in range(1 if count is None else count)
    ]
