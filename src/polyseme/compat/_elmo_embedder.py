"""`ElmoEmbedder` of AllenNLP 0.9."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Literal

import h5py
import torch
from torch import Tensor

from polyseme.arrays import Vectors
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError, MissingPart, OutputError
from polyseme.files.whole import whole_file
from polyseme.text.batching import checked

OutputFormat = Literal["all", "top", "average"]


class ElmoEmbedder:
    """All layers of sentences, one call at a time.

    Args:
        options_file: ``options.json``, with its ``weight_file``. Or alone: the name of a bundled model, or the path of
            a model of any format that `polyseme.load` takes. Nothing is downloaded, so it has no default.
        weight_file: ``weights.hdf5``; alone a model as well.
        cuda_device: The number of a GPU; -1 for the CPU.
        stateful: Carry state from batch to batch, as AllenNLP does.
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        cuda_device: int = -1,
        *,
        stateful: bool = False,
    ) -> None:
        given = [path for path in (options_file, weight_file) if path is not None]
        if not given:
            raise MissingPart(
                "no model given, and nothing is ever downloaded; give a model's name or path, such as 'english-small', "
                "or options_file and weight_file"
            )
        self.cuda_device = cuda_device
        self._embedder = load_embedder(
            given[0] if len(given) == 1 else (given[0], given[1]),
            stateful=stateful,
            device=torch.device("cpu") if cuda_device < 0 else torch.device("cuda", cuda_device),
        )

    def embed_sentence(self, sentence: Sequence[str]) -> Vectors:
        """All layers of one sentence: (L, T, D)."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Vectors]:
        """All layers of each sentence: (L, T, D) each."""
        self._embedder.batch_size = max(1, len(batch))
        return self._embedder.embed(batch)

    def batch_to_embeddings(self, batch: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """All layers of a batch as one tensor (B, L, T, D), zero at padding, and its mask (B, T)."""
        vectors = self.embed_batch(batch)
        longest = max((array.shape[1] for array in vectors), default=0)
        activations = torch.zeros(len(vectors), self._embedder.layers, longest, self._embedder.dim)
        for row, array in zip(activations, vectors, strict=True):
            row[:, : array.shape[1]] = torch.from_numpy(array)
        lengths = torch.tensor([array.shape[1] for array in vectors], dtype=torch.long)
        mask = torch.arange(longest) < lengths.unsqueeze(1)
        return activations.to(self._embedder.device), mask.to(self._embedder.device)

    def embed_sentences(self, sentences: Iterable[Sequence[str]], batch_size: int = 64) -> Iterator[Vectors]:
        """Yield all layers of each sentence, lazily, one batch at a time."""
        source = checked(sentences)
        while batch := list(islice(source, batch_size)):
            yield from self.embed_batch(batch)

    def embed_file(
        self,
        input_file: IO[str],
        output_file_path: str | Path,
        output_format: OutputFormat = "all",
        batch_size: int = 64,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """Embed a file with one tokenised sentence per line into an HDF5 file, which appears when it is complete.

        Args:
            input_file: Open for reading; tokens are separated by white space.
            output_file_path: Each sentence is a dataset named by its line number.
            output_format: All layers, the top one, or their average.
            batch_size: Number of sentences per batch.
            forget_sentences: Leave out the index from sentence to line number.
            use_sentence_keys: Name datasets by their sentence instead.
        """
        if output_format not in ("all", "top", "average"):
            raise InputError(f"output_format is {output_format!r}, expected 'all', 'top' or 'average'")
        sentences = [line.strip() for line in input_file]
        _check(sentences, as_keys=use_sentence_keys)
        target = Path(output_file_path)
        try:
            with whole_file(target) as temporary, h5py.File(temporary, "w") as file:
                vectors = self.embed_sentences((sentence.split() for sentence in sentences), batch_size)
                for number, (sentence, layers) in enumerate(zip(sentences, vectors, strict=True)):
                    file.create_dataset(
                        sentence if use_sentence_keys else str(number), data=_reduce(layers, output_format)
                    )
                if not forget_sentences and not use_sentence_keys:
                    index = json.dumps({sentence: str(number) for number, sentence in enumerate(sentences)})
                    file.create_dataset("sentence_to_index", (1,), dtype=h5py.string_dtype())[0] = index
        except OSError as error:
            raise OutputError(f"{target}: could not be written ({error}); nothing was left behind") from error


def _check(sentences: list[str], *, as_keys: bool) -> None:
    blank = [number for number, sentence in enumerate(sentences) if not sentence]
    if blank:
        raise InputError(f"the input has empty lines at {blank} (counted from 0); remove them")
    if as_keys and len(set(sentences)) < len(sentences):
        twice = next(sentence for sentence in sentences if sentences.count(sentence) > 1)
        raise InputError(f"{twice!r} occurs twice, so it cannot be a key; leave out use_sentence_keys")


def _reduce(layers: Vectors, output_format: OutputFormat) -> Vectors:
    if output_format == "all":
        return layers
    reduced: Vectors = layers[-1] if output_format == "top" else layers.mean(axis=0)
    return reduced
