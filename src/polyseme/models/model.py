"""A model: a network, and what turns words into its ids."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch

from polyseme.errors import InputError, MissingPart
from polyseme.files.checksum import digest
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig
from polyseme.models.network import Network
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.nn.softmax import Softmax
from polyseme.text.characters import ByteCharacters, Indexer
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import Vocabulary

ModelPath = str | Path | tuple[str | Path, str | Path]
"""A folder, a zip, a weights file, a checkpoint's prefix, ``(options, weights)``, or CoVe's ``(weights, vectors)``."""

_CHARACTERS = "token_encoder.characters.embedding.weight"


class ModelConfig(Protocol):
    """What the configuration of any kind of network tells."""

    @property
    def source(self) -> str:
        """The format the weights came from."""

    @property
    def segmentation(self) -> Segmentation:
        """How the text that the model learnt from was tokenised."""

    @property
    def source_options(self) -> dict[str, object] | None:
        """The options of the original file, unchanged."""

    def computation(self) -> str:
        """Every setting that the network's vectors depend on, as text."""


@dataclass(frozen=True)
class Model:
    """A network with its indexer and, if it has a softmax, its output vocabulary.

    Attributes:
        config: The settings the network was built from.
        network: Ids to layers.
        indexer: Words to ids.
        vocabulary: The words of the softmax.
        path: Where it was opened, as `open_model` takes it from any working folder; None for a model that was made.
        mixes: Layer mixes that were learnt with the network and saved with it.
    """

    config: ModelConfig
    network: Network
    indexer: Indexer
    vocabulary: Vocabulary | None = None
    path: ModelPath | None = None
    mixes: tuple[ScalarMix, ...] = ()

    @property
    def segmentation(self) -> Segmentation:
        """How the text that the model learnt from was tokenised."""
        return self.config.segmentation

    @property
    def bilm(self) -> BiLM:
        """The network as a biLM; refused for other networks. Code that needs more than layers asks for this."""
        if isinstance(self.network, BiLM):
            return self.network
        raise InputError(
            f"the model ({self.config.source}) is a {type(self.network).__name__}, but a biLM is needed here; give one"
        )

    @property
    def bilm_config(self) -> BiLMConfig:
        """The configuration of a biLM; refused for other networks."""
        if isinstance(self.config, BiLMConfig):
            return self.config
        raise InputError(f"the model ({self.config.source}) is not a biLM, which is needed here; give a biLM")

    @property
    def predicts_words(self) -> bool:
        """Whether the model is a language model with a softmax and its words."""
        return isinstance(self.network, BiLM) and self.network.softmax is not None and self.vocabulary is not None

    def output_layer(self, *, consequence: str, advice: str) -> tuple[Softmax, Vocabulary]:
        """The softmax and its words; a model that lacks either is refused.

        Args:
            consequence: What follows if one is missing, for the message: "it cannot predict words".
            advice: What to do about it, for the message.
        """
        softmax = self.network.softmax if isinstance(self.network, BiLM) else None
        if softmax is not None and self.vocabulary is not None:
            return softmax, self.vocabulary
        missing = "softmax" if softmax is None else "vocabulary"
        raise MissingPart(f"the model ({self.config.source}) has no {missing}, so {consequence}; {advice}")

    def without_softmax(self) -> "Model":
        """The same model without its softmax and vocabulary; the other weights are shared."""
        if not isinstance(self.network, BiLM) or self.network.softmax is None:
            return replace(self, vocabulary=None)
        return replace(
            self,
            config=self.bilm_config.model_copy(update={"vocabulary_size": 0, "softmax_cutoffs": ()}),
            network=BiLM(self.network.token_encoder, self.network.encoder),
            vocabulary=None,
        )

    def to(self, device: str | torch.device) -> "Model":
        """Move the network to a device; return the same model."""
        try:
            if torch.device(device).type == "meta":
                raise RuntimeError("it holds no numbers")
            self.network.to(device)
        except (RuntimeError, AssertionError) as error:  # torch's errors for a device that is unknown or absent
            raise InputError(
                f"device {str(device)!r} cannot be used ({str(error).splitlines()[0]}); try 'cpu'"
            ) from error
        return self

    def fingerprint(self) -> str:
        """A short checksum of the network: equal ones give equal vectors, whatever file they came from."""
        return digest(self._computed())

    def _computed(self) -> Iterator[bytes | memoryview]:
        """Everything that the vectors depend on, as bytes."""
        yield self.config.computation().encode()  # clips and other settings that are in no tensor
        yield self.indexer.tables().encode()
        for name, tensor in self.network.state_dict().items():
            if name.startswith("softmax."):
                continue
            if name == _CHARACTERS and isinstance(self.indexer, ByteCharacters):
                tensor = tensor[1:]  # no byte has id 0, and HDF5 files do not have its row
            yield name.encode()
            yield tensor.detach().cpu().contiguous().numpy().data
