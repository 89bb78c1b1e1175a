"""What an actor does: holds the model, embeds parts, and writes each as a Parquet file."""

import os
from dataclasses import dataclass

import numpy as np
import torch

import polyseme
from polyseme.embed.choices import Pool
from polyseme.embed.layers import LayerChoice
from polyseme.embed.long_sentences import LongSentences
from polyseme.embed.source import VectorSource, pool_tokens
from polyseme.embed.vectors_record import PART, PartRecord, VectorsRecord
from polyseme.embed.writers.parquet_stream import ParquetStream
from polyseme.errors import InputError
from polyseme.files.location import Location
from polyseme.nn.kernels.build import instruction_set
from polyseme.scale.parts import Part
from polyseme.scale.shared_weights import SharedWeights
from polyseme.scale.stretch import Stretch, opened
from polyseme.text.segmentation import Segmentation


@dataclass(frozen=True)
class Work:
    """What every worker of a job is told.

    Attributes:
        made_with: The record of the vectors, written into every part.
        layers: Which layers.
        pool: How tokens make one vector per sentence; None for one vector per token.
        segmentation: How running text is tokenised.
        folder: Where the parts go.
        threads: Threads of a worker.
        version: Of polyseme, which must be the same everywhere.
    """

    made_with: VectorsRecord
    layers: LayerChoice
    pool: Pool | None
    segmentation: Segmentation
    folder: Location
    threads: int
    version: str = polyseme.__version__


@dataclass(frozen=True)
class Ready:
    """What a worker says of itself when it can begin."""

    process: int
    instruction_set: str


class Worker:
    """Embeds parts.

    Args:
        source: What gives the vectors; its weights are replaced by those that workers of this machine share.
        work: What to do.
    """

    def __init__(self, source: VectorSource, work: Work) -> None:
        torch.set_num_threads(work.threads)
        self._source, self._work = source, work
        self._instruction_set = instruction_set()
        self._shared = SharedWeights.open()
        self._shared.share(source)

    def ready(self) -> Ready:
        """Make sure that the worker can do its work.

        Raises:
            InputError: Another version of polyseme is installed here.
        """
        if self._work.version != polyseme.__version__:
            raise InputError(
                f"polyseme {polyseme.__version__} is installed on {os.uname().nodename}, and the job was started with "
                f"{self._work.version}; install the same version on every machine"
            )
        self._source.embed([["a"]], layers=self._work.layers)  # kernels may have to be compiled, and weights packed
        return Ready(os.getpid(), self._instruction_set)

    def embed(self, part: Part) -> PartRecord:
        """Embed a part; its file is complete if its metadata has the record that is returned.

        Doing it again makes the same file.
        """
        target = self._work.folder.child(part.name)
        with opened(part, self._work.segmentation) as stretch, target.writing() as file:
            like = self._pooled(next(iter(self._source.stream([[]], layers=self._work.layers))))
            with ParquetStream(
                file,
                part=part.name,
                like=like,
                dtype=self._work.made_with.dtype,
                metadata=self._work.made_with.as_metadata(),
            ) as stream:
                record = self._write(part, stretch, stream)
                stream.describe(PART, record.model_dump())
        return record

    def _write(self, part: Part, stretch: Stretch, stream: ParquetStream) -> PartRecord:
        sentences = tokens = 0
        lengths = LongSentences()
        found = self._source.stream_with(stretch.sentences, lambda one: one.tokens, layers=self._work.layers)
        for sentence, vectors in found:
            lengths.add(sentence)
            stream.write(sentence, self._pooled(vectors))
            sentences, tokens = sentences + 1, tokens + len(sentence.tokens)
        repairs = stretch.repairs
        return PartRecord(
            name=part.name,
            file=part.file.location.shown,
            start=part.start,
            stop=part.stop,
            sentences=sentences,
            tokens=tokens,
            lines=stretch.lines.number,
            longest=lengths.longest,
            long=lengths.count,
            invalid=repairs.invalid,
            nulls=repairs.nulls,
            first_repair=repairs.first,
            odd=repairs.odd,
            instruction_set=self._instruction_set,
        )

    def _pooled(self, vectors: np.ndarray) -> np.ndarray:
        return pool_tokens(vectors, self._work.pool) if self._work.pool else vectors
