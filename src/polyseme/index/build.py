"""Building an index: a corpus is embedded in a stream and stored shard by shard."""

import hashlib
import json
import shutil
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from polyseme.embed.layers import LayerChoice, check_single
from polyseme.embed.source import VectorSource
from polyseme.errors import FormatError, InputError, OutputError
from polyseme.index import Advance
from polyseme.index.choices import COMPRESSIONS, Compression
from polyseme.index.shard import ESCAPED, ShardWriter
from polyseme.index.vectors import faiss
from polyseme.text.corpus import Corpus
from polyseme.text.held_sentences import HeldSentences

MANIFEST = "index.json"
KIND = "polyseme-index"


class Builder:
    """Writes an index into a folder, or adds to one.

    A new index grows in ``FOLDER.partial`` and is renamed when it is whole; new shards of an old one become part of it
    when its manifest is replaced. Either way an interrupted run can be resumed and loses the shard in hand at most.
    """

    def __init__(
        self,
        embedder: VectorSource,
        corpus: Corpus | Iterable[Sequence[str]],
        folder: Path,
        *,
        layers: LayerChoice,
        compression: Compression,
        words: Collection[str] | None,
        sample: float,
        shard_bytes: int,
        resume: bool,
        append: bool,
    ) -> None:
        faiss()  # or say now that it is missing
        if isinstance(corpus, str | Path):
            raise InputError(f"corpus is the path {str(corpus)!r}, expected Corpus([path], tokenize=...) or sentences")
        corpus = corpus if isinstance(corpus, Corpus) else HeldSentences(corpus)
        corpus.follow(embedder.segmentation)
        if isinstance(words, str):
            raise InputError(f"words is the one word {words!r} where a list of words is expected: [{words!r}]")
        layers = check_single(layers, embedder.layers)
        if compression not in COMPRESSIONS:
            raise InputError(f"unknown compression {compression!r}; expected {', '.join(COMPRESSIONS)}")
        if not 0 < sample <= 1:
            raise InputError(f"sample is {sample}, expected a share of the occurrences, above 0 and at most 1")
        self._embedder, self._corpus, self._folder, self._layers = embedder, corpus, folder, layers
        self._words = None if words is None else frozenset(words)
        self._sample, self._shard_bytes = sample, shard_bytes
        place = folder if folder.name else folder.absolute()  # "." may be an index to add to
        if not place.name:
            raise InputError(f"{folder}: exists already; give the name of a new folder")
        if str(folder).encode("utf-8", "ignore").decode() != str(folder):
            raise InputError(f"{folder}: the path is not UTF-8, and faiss cannot open it; give another")
        self._partial = place.with_name(f"{place.name}.partial")
        self._same = {
            "model": embedder.fingerprint(),
            "precision": embedder.precision,
            "layers": layers,
            "compression": compression,
            "tokenize": corpus.tokenize,
            "dictionary": None if corpus.dictionary is None else corpus.dictionary.words,
        }
        self._run: dict[str, Any] = {
            **self._same,
            "format": corpus.reader,
            "words": None if self._words is None else sorted(self._words),
            "sample": sample,
            "corpus": corpus.facts(),
            "shard_bytes": shard_bytes,
        }
        self._manifest = self._begin(resume=resume, append=append)

    def _begin(self, *, resume: bool, append: bool) -> dict[str, Any]:
        old = read_manifest(self._folder) if append else None
        if not append and self._folder.exists():
            more = ", or --append to add to it" if (self._folder / MANIFEST).exists() else ""
            raise InputError(f"{self._folder}: exists already; give the name of a new folder{more}")
        if old is not None:
            for name, value in self._same.items():
                if (before := old.get(name)) != value:
                    with_what = f"{name} {before!r}, not {value!r}" if name != "dictionary" else f"another {name}"
                    raise InputError(
                        f"{self._folder}: was built with {with_what}; add to it with the same, or build another index"
                    )
        if resume and (self._partial / MANIFEST).exists():
            self._corpus.check_resumable()
            found = read_manifest(self._partial)
            changed = next((name for name, value in self._run.items() if found["run"].get(name) != _plain(value)), None)
            if changed is not None:
                raise InputError(
                    f"{self._partial}: was begun with another {changed}; resume it with the same settings and text, or "
                    "remove this folder"
                )
            return found
        if resume and append and not self._partial.exists():
            raise InputError(
                f"{self._folder}: no interrupted addition is here, the last one was finished; leave out --resume to "
                "add this text"
            )
        if self._partial.exists() and not resume:
            raise InputError(
                f"{self._partial}: an interrupted build is here; go on with --resume, or remove this folder"
            )
        try:
            self._partial.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self._partial}: cannot be created ({error.strerror})") from error
        first = len(old["shards"]) if old is not None else 0
        model = self._embedder.path or ""
        return {
            "format": KIND,
            "version": 1,
            **self._same,
            "model_path": [str(part) for part in model] if isinstance(model, tuple) else str(model),
            "dim": self._embedder.dim,
            "run": _plain(self._run),
            "first": first,
            "sentences": 0,
            "shards": [],
        }

    def run(self, advance: Advance | None = None) -> None:
        """Embed and store."""
        try:
            self._embed(advance)
        except BaseException:
            if not self._manifest["shards"]:  # nothing to go on from, and nothing that should block another try
                shutil.rmtree(self._partial, ignore_errors=True)
            raise
        self._finish()

    def _embed(self, advance: Advance | None) -> None:
        manifest = self._manifest
        for folder in self._partial.iterdir():  # a shard that was not finished
            if folder.is_dir() and folder.name not in {shard["name"] for shard in manifest["shards"]}:
                shutil.rmtree(folder)
        waiting: deque[tuple[int, list[str], list[int], float | None]] = deque()

        def token_lists() -> Iterator[list[str]]:
            sentences = islice(self._corpus.nonempty(), manifest["sentences"], None)
            for number, sentence in enumerate(sentences, manifest["sentences"]):
                tokens = sentence.tokens
                positions = [place for place, token in enumerate(tokens) if self._wanted(token, number, place)]
                # What nothing is wanted of need not be embedded, unless what comes after it carries its state.
                if positions or self._embedder.stateful:
                    waiting.append((number, tokens, positions, self._corpus.share_read()))
                    yield tokens
                elif advance is not None:
                    advance(len(tokens), self._corpus.share_read())

        writer, read = ShardWriter(self._embedder.dim), manifest["sentences"]
        for rows in self._embedder.stream(token_lists(), layers=self._layers):
            number, tokens, positions, share = waiting.popleft()
            writer.add(tokens, positions, rows[positions])
            read = number + 1
            if writer.bytes >= self._shard_bytes:
                self._store(writer, read)
                writer = ShardWriter(self._embedder.dim)
            if advance is not None:
                advance(len(tokens), share)
        if len(writer):
            self._store(writer, read)
        if not manifest["shards"]:
            what = (
                "none of the words asked for stands in it"
                if self._words is not None
                else "the sample holds no occurrence"
            )
            raise InputError(f"{self._corpus}: {what}; nothing was stored")

    def _wanted(self, token: str, sentence: int, position: int) -> bool:
        if self._words is not None and token not in self._words:
            return False
        if self._sample == 1:
            return True
        digest = hashlib.blake2b(f"{sentence} {position}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") < self._sample * 2**32

    def _store(self, writer: ShardWriter, read: int) -> None:
        manifest = self._manifest
        name = f"shard-{manifest['first'] + len(manifest['shards']):05d}"
        try:
            facts = writer.write(self._partial / name, self._manifest["compression"])
            manifest["shards"].append(facts)
            manifest["sentences"] = read
            _write_manifest(self._partial, manifest)
        except (OSError, RuntimeError) as error:  # faiss raises RuntimeError where a disk is full
            kept = "what was stored before is kept, go on with --resume" if manifest["shards"] else "nothing was stored"
            why = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise OutputError(f"{self._partial}: could not be written ({why}); {kept}") from error

    def _finish(self) -> None:
        """Make what was stored part of the index; may be cut off anywhere and done again."""
        manifest = {name: value for name, value in self._manifest.items() if name not in ("run", "first", "sentences")}
        if not self._manifest["first"]:
            self._partial.rename(self._folder)
            _write_manifest(self._folder, manifest)
            return
        old = read_manifest(self._folder)
        counted = {shard["name"] for shard in old["shards"]}
        new = [shard for shard in manifest["shards"] if shard["name"] not in counted]
        for shard in new:
            source, target = self._partial / shard["name"], self._folder / shard["name"]
            if source.exists():  # else it was moved before
                shutil.rmtree(target, ignore_errors=True)
                source.rename(target)
        _write_manifest(self._folder, {**old, "shards": old["shards"] + new})
        done = self._folder / "added"
        shutil.rmtree(done, ignore_errors=True)
        self._partial.rename(done)  # at once, so that no half of it is taken for an addition to go on with
        shutil.rmtree(done)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What an index says of itself."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder}: no index is here ({MANIFEST} is missing); build one with polyseme index")
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] == KIND and manifest["version"] == 1:
            return manifest
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: damaged ({error}); build the index again") from error
    raise FormatError(f"{path}: not the manifest of an index this version reads; build the index again")


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    temporary = folder / f"{MANIFEST}.tmp"
    temporary.write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8", errors=ESCAPED)
    temporary.replace(folder / MANIFEST)


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(value))
