"""The index: one that is complete, and one whose run was interrupted."""

import json
import random
from pathlib import Path
from unittest import mock

from polyseme.embed.embedder import Embedder
from polyseme.files.checksum import crc32
from polyseme.formats import native
from polyseme.index import folder_run
from polyseme.index.choices import Compression
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.transaction import Transaction
from polyseme.text.corpus import Corpus
from reliability.damage.folder import damage_folder
from reliability.good_models import tiny_model, write_text
from reliability.target import Target
from reliability.targets.outputs import Stop


def _build(folder: Path, *, append: bool = False, compression: Compression = "float16") -> None:
    folder_run.SECONDS = 0
    corpus = Corpus([folder / "text.txt"], tokenize="none")
    OccurrenceIndex.build(
        Embedder(tiny_model(), batch_tokens=16),
        corpus,
        folder / "index",
        shard_bytes=1500,
        resume=True,
        append=append,
        compression=compression,
    )


def _make(folder: Path, compression: Compression) -> None:
    write_text(folder / "text.txt", 20)
    native.write(tiny_model(), folder / "model")
    _build(folder, compression=compression)
    OccurrenceIndex(folder / "index", model=folder / "model").nearest("the [bank]", whiten=True)


def _use(folder: Path) -> None:
    index = OccurrenceIndex(folder / "index", model=folder / "model")
    index.nearest("the [bank]", k=3, words="other", group=True)
    index.nearest("the [bank]", k=3, whiten=True)
    index.similar("bank", least=1)
    index.occurrences("river", most=5)


def _damage_index(folder: Path, draw: random.Random) -> None:
    damage_folder(folder / "index", draw)


def _seal(folder: Path, draw: random.Random) -> None:
    """Write the sizes and checksums of damaged files into the manifest, mostly."""
    path = folder / "index" / "index.json"
    if draw.random() < 0.2 or not path.is_file():
        return
    try:
        manifest = json.loads(path.read_bytes())
        for shard in manifest["shards"]:
            for name, record in shard["files"].items():
                record[:] = _record(folder / "index" / shard["name"] / name)
        manifest["whitening"] = _record(folder / "index" / "whitening.npy")
        path.write_text(json.dumps(manifest))
    except (ValueError, TypeError, LookupError, AttributeError, OSError, RecursionError):
        return  # the manifest itself is damaged


def _record(path: Path) -> list[int]:
    return [path.stat().st_size, crc32(path)]


def _make_interrupted(folder: Path, *, append: bool) -> None:
    write_text(folder / "text.txt", 4 if append else 20)
    if append:
        _build(folder)
        write_text(folder / "text.txt", 20, seed=2)
    try:
        with mock.patch.object(Transaction, "finish", side_effect=Stop):
            _build(folder, append=append)
    except Stop:
        return
    raise AssertionError("the run was not stopped")


def _damage_work(folder: Path, draw: random.Random) -> None:
    damage_folder(folder / "index.partial", draw)


TARGETS = (
    Target("index, float16", lambda folder: _make(folder, "float16"), _use, _damage_index, _seal),
    Target("index, int8", lambda folder: _make(folder, "int8"), _use, _damage_index, _seal),
    Target("interrupted index", lambda folder: _make_interrupted(folder, append=False), _build, _damage_work),
    Target(
        "interrupted append",
        lambda folder: _make_interrupted(folder, append=True),
        lambda folder: _build(folder, append=True),
        _damage_work,
    ),
)
