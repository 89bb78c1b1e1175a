"""Output files that are read again: the parts of an interrupted ``polyseme embed``."""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from polyseme.arrays import Vectors
from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.layers import LayerChoice
from polyseme.text.corpus import Corpus
from reliability.damage.folder import damage_folder
from reliability.good_models import tiny_model, write_text
from reliability.target import Target


class Stop(Exception):  # noqa: N818 - it stops a run on purpose
    """Ends a run before its end."""


class _Stopping(Embedder):
    """Raises an error after some sentences."""

    def stream(self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        for number, vectors in enumerate(super().stream(sentences, layers=layers)):
            if number == 12:
                raise Stop
            yield vectors


def _run(folder: Path, suffix: str, pool: bool, *, stop: bool) -> None:
    made = (_Stopping if stop else Embedder)(tiny_model(), batch_tokens=16)
    corpus = Corpus([folder / "text.txt"], tokenize="none")
    embed_corpus(made, corpus, folder / f"out{suffix}", pool="mean" if pool else None, resume=True)


def _make(folder: Path, suffix: str, pool: bool) -> None:
    write_text(folder / "text.txt", 20)
    try:
        _run(folder, suffix, pool, stop=True)
    except Stop:
        return
    raise AssertionError("the run was not stopped")


def _damage(folder: Path, draw: random.Random) -> None:
    damage_folder(next(folder.glob("*.partial")), draw)


def _target(suffix: str, *, pool: bool) -> Target:
    name = f"interrupted embed, {suffix[1:]}{', one vector per sentence' if pool else ''}"
    make, attempt = partial(_make, suffix=suffix, pool=pool), partial(_run, suffix=suffix, pool=pool, stop=False)
    return Target(name, make, attempt, _damage)


TARGETS = tuple(_target(suffix, pool=pool) for suffix in (".npz", ".h5", ".parquet") for pool in (False, True))
