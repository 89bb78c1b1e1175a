"""The job of embedding on many machines: files of text in, a folder of Parquet parts out, resumable."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from polyseme.embed.choices import NumberType, Pool
from polyseme.embed.job import check_layers
from polyseme.embed.layers import LayerChoice
from polyseme.embed.source import VectorSource
from polyseme.embed.vectors_record import VectorsManifest, VectorsRecord, arranged
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
from polyseme.text.choices import Reader, TokenizerChoice
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import check_choice, resolve


def embed_files(
    source: VectorSource,
    sources: Sequence[str | Path],
    output: str | Path,
    *,
    layers: LayerChoice | None = None,
    pool: Pool | None = None,
    dtype: NumberType = "float32",
    reader: Reader = "auto",
    tokenize: TokenizerChoice | None = "auto",
    dictionary: Dictionary | None = None,
    resume: bool = False,
    settings: ScaleSettings | None = None,
    watcher: Watcher | None = None,
) -> ScaleResult:
    """Embed files on a Ray cluster, into a folder of Parquet parts with a manifest.

    Args:
        source: What gives the vectors; it is sent to every machine.
        sources: Files and folders: paths, which every machine must be able to open, or addresses such as s3://...
        output: The folder to write: a path or an address.
        layers: As in `polyseme.embed.job.embed_corpus`, like ``pool`` and ``dtype``.
        pool: One vector per sentence.
        dtype: The numbers in the parts.
        reader: As in `polyseme.text.corpus.Corpus`, like ``tokenize`` and ``dictionary``.
        tokenize: How running text is tokenised.
        dictionary: Words to keep whole.
        resume: Continue an interrupted run of the same text and settings. If there is none, a new one begins.
        settings: How the work is spread.
        watcher: Is told how the job goes; if None, a notebook gets a bar.

    Raises:
        InputError: An argument or the text is not what was expected, or something is in the way.
        MissingPart: Ray is not installed.
        OutputError: A part could not be written, or workers were lost again and again.
        Interrupted: A signal came; complete parts are kept.
    """
    ray_module()  # or say now that it is missing
    spread = settings or ScaleSettings()
    choice: LayerChoice = layers if layers is not None else "mean" if pool else "all"
    check_layers(source, choice, pool)
    if source.stateful:
        raise InputError("--stateful carries state from sentence to sentence, which parts cannot; leave it out")
    begun = time.monotonic()
    with watching(watcher) as told:
        files = find_files([str(one) for one in sources], reader)
        segmentation, note = resolve(check_choice(tokenize), dictionary, source.segmentation, lambda: _beginning(files))
        if note is not None:
            told.note(note)
        told.begin("dividing the text")
        parts = divide(files, segmentation.tokenizer, spread.part_bytes)
        made_with = VectorsRecord.of(source, segmentation, layers=choice, pool=pool, dtype=dtype)
        folder = open_output(Location.of(output), _settings(made_with, files, spread), resume=resume)
        try:
            work = Work(made_with, choice, pool, segmentation, folder.folder, spread.threads)
            report = Report(told, parts, folder, output=str(output), resume=resume)
            if not folder.complete:
                _embed(source, work, parts, spread, report)
                _finish(made_with, parts, folder, report)
        finally:
            folder.close()
        return report.result(time.monotonic() - begun)


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
