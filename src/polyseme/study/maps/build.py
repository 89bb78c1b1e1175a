"""Makes a map of one or two indexes: chooses points, computes their vectors, arranges them layer by layer."""

from collections.abc import Iterator, Sequence

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError
from polyseme.files.interrupt import Interruption, interruptible
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.progress import Watcher
from polyseme.study.maps.choose import choose
from polyseme.study.maps.layer_vectors import Computed, layer_names, layer_vectors
from polyseme.study.maps.layout import LayerLayout, fit_square, spread, tsne
from polyseme.study.maps.occurrence_map import MEAN, STATIC, MapSettings, OccurrenceMap, numbered_names

_ROWS = 20_000  # points that are placed at a time


def build_map(
    indexes: Sequence[OccurrenceIndex],
    settings: MapSettings,
    watcher: Watcher,
    *,
    static: StaticVectors | None = None,
    threads: int = 1,
) -> OccurrenceMap:
    """Make a map.

    The layer of the index is arranged first; each other one begins with the arrangement of its neighbour.

    Args:
        indexes: One or two, of the same model and layer.
        settings: What to show.
        watcher: Is told how it goes.
        static: Word vectors for a layer of their own.
        threads: To compute with.

    Raises:
        Interrupted: A signal came; nothing is kept.
    """
    tsne()  # or say now that it is missing
    check_alike(indexes)
    sample, others = _chosen(indexes, settings)
    names, own = layer_names(indexes[0].embedder, static), own_layer(indexes[0])
    layers, found = _arranged(_Work(indexes, static, watcher), sample, others, names, own, threads)
    corpora, numbers = np.concatenate([sample, others], axis=1)
    return OccurrenceMap(
        settings,
        sample.shape[1],
        numbers,
        corpora.astype(np.uint8),
        *numbered_names([word for part in found for word in part.words]),
        *numbered_names([document for part in found for document in part.documents]),
        *numbered_names([label for part in found for label in part.labels]),
        layers,
        own,
    )


def _arranged(
    work: "_Work", sample: Numbers, others: Numbers, names: Sequence[str], own: str, threads: int
) -> tuple[dict[str, Vectors], list[Computed]]:
    """The places (P, 2) of the sample and of the others in each layer, and what they are."""
    with interruptible() as interrupted:
        work.interrupted = interrupted
        found = [work.vectors(sample, "computing the vectors of the sample", 0, sample.shape[1])]
        layouts: dict[str, LayerLayout] = {}
        for name in _order(names, own):
            near = _near(name, names, own)
            layouts[name] = work.arrange(name, found[0].vectors[name], layouts[near].places if near else None, threads)
        places = {name: [layout.places] for name, layout in layouts.items()}
        for start in range(0, others.shape[1], _ROWS):
            some = others[:, start : start + _ROWS]
            found.append(work.vectors(some, "placing the other points", start, others.shape[1]))
            for name, layout in layouts.items():
                interrupted.check()
                places[name].append(layout.place(found[-1].vectors[name]))
            found[-1].vectors.clear()
    whole = {name: np.concatenate(places[name]) for name in names}
    return {name: fit_square(spread(p) if layouts[name].repeats else p) for name, p in whole.items()}, found


def check_alike(indexes: Sequence[OccurrenceIndex]) -> None:
    """Refuse indexes whose vectors cannot be compared.

    Raises:
        InputError: With what differs.
    """
    for index in indexes[1:]:
        for name, value in indexes[0].made_with.items():
            if value != (other := index.made_with[name]):
                raise InputError(
                    f"{indexes[0].path} was built with {name} {value!r}, {index.path} with {other!r}; their vectors "
                    "cannot be compared, build both alike"
                )


def own_layer(index: OccurrenceIndex) -> str:
    """The name of the layer that an index holds."""
    layers, last = index.made_with["layers"], index.embedder.layers - 1
    if layers == MEAN:
        return MEAN if last else "0"
    return str(last if layers == "top" else layers)


class _Work:
    """Does the two long things, tells about them, and stops when a signal comes."""

    def __init__(self, indexes: Sequence[OccurrenceIndex], static: StaticVectors | None, watcher: Watcher) -> None:
        self._indexes, self._static, self._watcher = indexes, static, watcher
        self.interrupted = Interruption()

    def vectors(self, points: Numbers, stage: str, start: int, total: int) -> Computed:
        """The vectors of points (2, n) by layer; ``start`` of the total were done before."""
        if not start:
            self._watcher.begin(stage)

        def told(done: int) -> None:
            self.interrupted.check()
            self._watcher.step((start + done) / total, {"points": start + done})

        return layer_vectors(self._indexes, points[0], points[1], self._static, told)

    def arrange(self, name: str, vectors: Vectors, near: Vectors | None, threads: int) -> LayerLayout:
        """The arrangement of one layer."""
        self._watcher.begin("arranging the static vectors" if name == STATIC else f"arranging layer {name}")

        def told(share: float) -> None:
            self.interrupted.check()
            self._watcher.step(share, {"points": len(vectors)})

        return LayerLayout(vectors, near, told, threads=threads)


def _chosen(indexes: Sequence[OccurrenceIndex], settings: MapSettings) -> tuple[Numbers, Numbers]:
    """(2, S) and (2, R) the index and the number there, of the sample and of the others."""
    parts = []
    for corpus, index in enumerate(indexes):
        both = choose(
            index,
            points=settings.points // len(indexes),
            sample=min(settings.sample, settings.points) // len(indexes),
            words=settings.words,
        )
        parts.append([np.stack([np.full(len(some), corpus), some]) for some in both])
    return np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts], axis=1)


def _order(names: Sequence[str], own: str) -> Iterator[str]:
    """The own layer first, then those of the model outwards from it, then the mean and the static vectors."""
    yield own
    numbered = [name for name in names if name.isdecimal() and name != own]
    start = int(own) if own.isdecimal() else len(numbered)
    yield from sorted(numbered, key=lambda name: abs(int(name) - start))
    yield from (name for name in names if not name.isdecimal() and name != own)


def _near(name: str, names: Sequence[str], own: str) -> str | None:
    """The layer whose arrangement another begins with: one step nearer to the own one."""
    if name == own:
        return None
    if name == STATIC:
        return "0"
    last = max(int(known) for known in names if known.isdecimal())
    if name == MEAN:
        return own
    if not own.isdecimal():
        return own if int(name) == last else str(int(name) + 1)
    return str(int(name) + (1 if int(name) < int(own) else -1))
