"""A map of any number of points over two small indexes of a tiny model, without t-SNE; and a server that shows it."""

import asyncio
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import uvicorn
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.serve.application import application
from polyseme.serve.explorer import Explorer
from polyseme.serve.limits import Limits
from polyseme.serve.parts import Parts
from polyseme.serve.process import listen
from polyseme.serve.service import Service
from polyseme.study.maps.labels import PointLabels
from polyseme.study.maps.occurrence_map import MapSettings, OccurrenceMap, numbered_names
from polyseme.text.corpus import Corpus
from polyseme.text.segmentation import Segmentation

PHRASES = ("the bank of the river", "money of the bank", "a play of the day", "the river of money")
LAYERS = ("0", "1", "2", "mean", "static")


def write_text(path: Path, *, documents: int = 3, sentences: int = 12) -> Path:
    """A text of several documents."""
    lines = []
    for document in range(documents):
        lines.append(f'<text id="document {document}">')
        for number in range(sentences):
            lines += ["<s>", *PHRASES[number % 4].split(), str(number), "</s>"]
        lines.append("</text>")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def generated_map(indexes: list[OccurrenceIndex], points: int) -> OccurrenceMap:
    """Points in one heap for each word; in layers 1 and 2 the heap falls into two."""
    draw = np.random.default_rng(1)
    corpora = (np.arange(points) % len(indexes)).astype(np.uint8)
    numbers = np.array([(i // len(indexes)) % len(indexes[corpora[i]]) for i in range(points)])
    names = [index.numbered.words(np.arange(len(index))) for index in indexes]
    words, word_names = numbered_names([names[c][n] for c, n in zip(corpora, numbers, strict=True)])
    angle = words * math.pi * (3 - math.sqrt(5))
    centre = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (0.15 + 0.7 * (words / len(word_names)))[:, None] ** 0.5
    half = np.where(numbers % 2, 1.0, -1.0)[:, None] * np.array([0.06, 0.03])
    noise = draw.normal(size=(points, 2))
    shares = zip(LAYERS, (0, 1, 2, 1, 0), strict=True)
    places = {name: centre * 0.8 + half * share + noise * 0.015 for name, share in shares}
    places["0"] = centre * 0.8 + noise * 0.004
    places["static"] = np.where((words == 1)[:, None], np.nan, places["0"][:, ::-1])
    documents, document_names = numbered_names([f"document {n % 3}" for n in numbers])
    return OccurrenceMap(
        settings=MapSettings(points=points),
        sample=points,
        numbers=numbers,
        corpora=corpora,
        words=words,
        word_names=word_names,
        documents=documents,
        document_names=document_names,
        labels=np.zeros(points, np.uint32),
        label_names=[""],
        layers={name: np.clip(place, -1, 1).astype(np.float32) for name, place in places.items()},
        own="2",
    )


def explorer_parts(folder: Path, points: int, *, texts: int = 2) -> Parts:
    """Everything that the explorer needs, over a generated map."""
    source = Embedder(tiny_model())
    beside = Embedder(source.model)
    indexes = []
    for number in range(texts):
        text = write_text(folder / f"text-{number}.vrt", sentences=12 + 4 * number)
        indexes.append(OccurrenceIndex.build(beside, Corpus([str(text)]), folder / f"index-{number}"))
    made = generated_map(indexes, points)
    titles, names = numbered_names(["noun" if made.word_names[n] in ("bank", "river") else "" for n in made.words])
    return Parts(
        name="tiny",
        fingerprint=source.fingerprint(),
        source=source,
        layers="mean",
        segmentation=Segmentation("en"),
        note=None,
        model=beside,
        index=indexes[0],
        task=None,
        explorer=Explorer(made, indexes, [f"text {n}" for n in range(texts)], PointLabels("kind", titles, names)),
    )


@contextmanager
def shown(parts: Parts) -> Iterator[str]:
    """The address of a server that shows these, in a thread."""
    service = Service(Limits(timeout=120))

    async def begin() -> None:
        service.begin(parts)

    listener = listen("127.0.0.1", 0)
    app = application(service, hosts=("localhost",), started=begin)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
