"""The job of embedding on many machines: files of text in, a folder of Parquet parts out, resumable."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from polyseme.embed.choices import NumberType, Pool
from polyseme.embed.job import check_layers
from polyseme.embed.layers import LayerChoice
from polyseme.embed.source import VectorSource
from polyseme.embed.vectors_record import VectorsManifest, VectorsRecord, arranged
from polyseme.embed.writers.base import check_number_type
from polyseme.errors import InputError, Interrupted
from polyseme.files.interrupt import interruptible
from polyseme.files.location import Location
from polyseme.files.whole import JSON
from polyseme.progress import Watcher, watching
from polyseme.scale.engine import connected, ray_module
from polyseme.scale.output import PartsFolder, open_output
from polyseme.scale.parts import InputFile, Part, divide, find_files
from polyseme.scale.pool import ActorPool
from polyseme.scale.report import Report, ScaleResult
from polyseme.scale.settings import ScaleSettings
from polyseme.scale.worker import Work, Worker
from polyseme.text.beginning import beginning
from polyseme.text.choices import TOKENS_ALREADY, Reader, TokenizerChoice
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation, check_choice, resolve


@dataclass(frozen=True, kw_only=True)
class EmbedJob:
    """Embeds files on a Ray cluster, into a folder of Parquet parts with a manifest.

    Attributes:
        source: What gives the vectors; it is sent to every machine.
        sources: Files and folders: paths, which every machine must be able to open, or addresses such as s3://...
        output: The folder to write: a path that every machine can open, or an address.
        layers: As in `polyseme.embed.job.embed_corpus`, like ``pool`` and ``dtype``.
        pool: One vector per sentence.
        dtype: The numbers in the parts.
        reader: As in `polyseme.text.corpus.Corpus`, like ``tokenize`` and ``dictionary``.
        tokenize: How running text is tokenised.
        dictionary: Words to keep whole.
        settings: How the work is spread.

    Raises:
        InputError: An argument is not what was expected.
        MissingPart: Ray is not installed.

    Example::

        job = EmbedJob(source=load("english-small"), sources=["news"], output="vectors", layers="mean")
        job.run(resume=True)
    """

    source: VectorSource
    sources: Sequence[str | Path]
    output: str | Path
    layers: LayerChoice | None = None
    pool: Pool | None = None
    dtype: NumberType = "float32"
    reader: Reader = "auto"
    tokenize: TokenizerChoice | None = "auto"
    dictionary: Dictionary | None = None
    settings: ScaleSettings = field(default_factory=ScaleSettings)

    def __post_init__(self) -> None:
        ray_module()  # or say now that it is missing
        check_layers(self.source, self._choice, self.pool)
        check_number_type(self.dtype)
        if self.source.stateful:
            raise InputError("--stateful carries state from sentence to sentence, which parts cannot; leave it out")

    def run(self, *, resume: bool = False, watcher: Watcher | None = None) -> ScaleResult:
        """Do the work.

        Args:
            resume: Continue an interrupted run of the same text and settings. If there is none, a new one begins.
            watcher: Is told how the job goes; if None, a notebook gets a bar.

        Raises:
            InputError: The text is not what was expected, or something is in the way of the output.
            OutputError: A part could not be written, or workers were lost again and again.
            Interrupted: A signal came; complete parts are kept.
        """
        begun = time.monotonic()
        with watching(watcher) as told:
            told.begin("dividing the text")
            files = find_files([str(one) for one in self.sources], self.reader)
            segmentation = self._segmentation(files, told)
            parts = divide(files, segmentation.tokenizer, self.settings.part_bytes)
            made_with = VectorsRecord.of(
                self.source, segmentation, layers=self._choice, pool=self.pool, dtype=self.dtype
            )
            folder = open_output(Location.of(self.output), _settings(made_with, files, self.settings), resume=resume)
            with closing(folder):
                report = Report(told, parts, folder, output=str(self.output), resume=resume)
                if not folder.complete:
                    work = Work(made_with, self._choice, self.pool, segmentation, folder.folder, self.settings.threads)
                    _embed(self.source, work, parts, self.settings, report)
                    _finish(made_with, parts, folder, report)
            return report.result(time.monotonic() - begun)

    @property
    def _choice(self) -> LayerChoice:
        return self.layers if self.layers is not None else "mean" if self.pool else "all"

    def _segmentation(self, files: Sequence[InputFile], watcher: Watcher) -> Segmentation:
        """How running text is tokenised, as the model's text was if nothing else is chosen."""
        choice = check_choice(self.tokenize)
        chosen, note = resolve(choice, self.dictionary, self.source.segmentation, lambda: _beginning(files))
        if note is not None and any(file.layout not in TOKENS_ALREADY for file in files):
            watcher.note(note)
        return chosen


def _beginning(files: Sequence[InputFile]) -> str:
    by_name = {file.location.shown: file for file in files}
    return beginning(
        ((name, file.layout) for name, file in by_name.items()), lambda name: by_name[name].location.open()
    )


def _settings(made_with: VectorsRecord, files: Sequence[InputFile], spread: ScaleSettings) -> dict[str, JSON]:
    """What the parts depend on: a run is resumed only if all of it is the same."""
    text: list[JSON] = [[file.location.shown, file.size, file.changed, file.layout] for file in files]
    return {**made_with.model_dump(mode="json", exclude={"model_path"}), "part_bytes": spread.part_bytes, "text": text}


def _embed(
    source: VectorSource,
    work: Work,
    parts: Sequence[Part],
    spread: ScaleSettings,
    report: Report,
) -> None:
    """Have the parts embedded that are not complete yet."""
    left = [part for part in parts if part.name not in report.records]
    if not left:
        return
    from ray import cloudpickle

    packed: bytes = cloudpickle.dumps(source)  # type: ignore[no-untyped-call]
    processors = None if spread.actors is None else spread.actors * spread.threads
    try:
        with connected(spread.address, processors=processors, model_bytes=len(packed)) as ray:
            model, told = ray.put(source), ray.put(work)
            # A lost actor is replaced by the pool: Ray itself would wait for its machine to come back.
            options = {"num_cpus": spread.threads, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
            actor = ray.remote(**options)(Worker)
            pool = ActorPool(
                ray,
                start=lambda: actor.remote(model, told),
                wanted=lambda: spread.actors or int(ray.cluster_resources().get("CPU", 0)) // spread.threads,
                finished=report.finished,
                joined=report.joined,
                lost=report.lost,
            )
            try:
                with interruptible() as interrupted:  # after Ray has set its own handlers of signals
                    pool.run(left, interrupted)
            finally:
                pool.stop()
    except Interrupted as stopped:
        raise Interrupted(f"interrupted; {report.kept()}", number=stopped.number) from None


def _finish(made_with: VectorsRecord, parts: Sequence[Part], folder: PartsFolder, report: Report) -> None:
    """Write the manifest, from the records of all parts in the order of the text."""
    records = [report.records[part.name] for part in parts]
    if not sum(record.tokens for record in records):
        raise InputError(f"{report.text}: no sentences; give text with at least one word")
    placed = arranged([(record, folder.size(record.name)) for record in records])
    folder.finish(
        VectorsManifest(
            made_with=made_with,
            sentences=sum(record.sentences for record in records),
            tokens=sum(record.tokens for record in records),
            instruction_sets=dict(Counter(record.instruction_set for record in records)),
            parts=placed,
        )
    )
