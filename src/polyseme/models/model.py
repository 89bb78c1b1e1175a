"""A model: the network, and what turns words into its ids."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

from polyseme.errors import InputError
from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig
from polyseme.text.characters import ByteCharacters, Indexer
from polyseme.text.vocabulary import Vocabulary

ModelPath = str | Path | tuple[str | Path, str | Path]
"""A folder, a zip, a weights file, a checkpoint's prefix, or ``(options, weights)``."""

_CHARACTERS = "token_encoder.characters.embedding.weight"


@dataclass(frozen=True)
class Model:
    """A biLM with its indexer and, where it has a softmax, its vocabulary.

    Attributes:
        path: Where it was opened, as `open_model` takes it from any folder; None where it was made.
    """

    config: BiLMConfig
    bilm: BiLM
    indexer: Indexer
    vocabulary: Vocabulary | None = None
    path: ModelPath | None = None

    def to(self, device: str | torch.device) -> "Model":
        """Move the network; gives the same model."""
        try:
            if torch.device(device).type == "meta":
                raise RuntimeError("it holds no numbers")
            self.bilm.to(device)
        except (RuntimeError, AssertionError) as error:  # torch's words for a device it does not know or have
            raise InputError(
                f"device {str(device)!r} cannot be used ({str(error).splitlines()[0]}); try 'cpu'"
            ) from error
        return self

    def fingerprint(self) -> str:
        """A short name for this network: equal ones give equal vectors, whatever file they came from."""
        digest = hashlib.blake2b(digest_size=8)
        computed = self.config.model_dump_json(include={"projection_dim", "token_encoder", "encoder"})
        digest.update(computed.encode())  # clips and the like, which no tensor tells
        digest.update(self.indexer.tables().encode())
        for name, tensor in self.bilm.state_dict().items():
            if name.startswith("softmax."):
                continue
            if name == _CHARACTERS and isinstance(self.indexer, ByteCharacters):
                tensor = tensor[1:]  # no byte has id 0, and HDF5 files do not have its row
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()
