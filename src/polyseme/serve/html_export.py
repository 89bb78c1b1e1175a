"""The explorer as one file: a page that needs no server, with the sample of the map and its sentences in it."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from polyseme.errors import InputError, OutputError
from polyseme.files.whole import JSON, reason, write_text
from polyseme.progress.figures import counted
from polyseme.serve import explored
from polyseme.serve.explore_requests import MapSensesRequest
from polyseme.serve.explorer import TYPES, Explorer
from polyseme.serve.pages import STATIC
from polyseme.serve.parts import Parts
from polyseme.study.maps.occurrence_map import numbered_names
from polyseme.study.sense_induction import LEAST

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; worker-src blob:"
)
_LINK = '<link rel="stylesheet" href="/static/explore.css">'
_SCRIPT = '<script type="module" src="/static/explore.js"></script>'


def write_html(path: Path, parts: Parts, *, points: int, words: Sequence[str]) -> int:
    """Write the page.

    Args:
        path: The file; one that exists is replaced.
        parts: With an explorer.
        points: At most so many, spread evenly over the sample.
        words: Words whose senses are part of the file.

    Returns:
        The number of points.

    Raises:
        InputError: A word has too few occurrences for senses.
        OutputError: The file cannot be written.
    """
    whole = explored.explorer_of(parts)
    some = np.unique(np.linspace(0, whole.map.sample - 1, min(points, whole.map.sample)).astype(np.int64))
    few = _reduced(whole, some)
    record: dict[str, JSON] = {
        **few.facts(),
        "model": parts.name,
        "fingerprint": parts.fingerprint,
        "numbers": {name: _base64(few, name) for name in few.arrays},
        **_sentences(few),
        "senses": {word: explored.senses(replace(parts, explorer=few), MapSensesRequest(word=word)) for word in words},
    }
    try:
        write_text(path, _page(record), errors="backslashreplace")
    except OSError as error:
        raise OutputError(f"{path}: could not be written ({reason(error)}); give another name") from error
    return len(some)


def too_rare(parts: Parts, words: Sequence[str]) -> dict[str, str]:
    """Words that have too few occurrences for senses, each with one line that says so."""
    index = explored.explorer_of(parts).indexes[0]
    times = {word: len(index.numbered.of(word)) for word in words}
    return {
        word: f"{index.name}: {word!r} occurs {counted(count, 'time')} in it, and senses need {LEAST}; the page has "
        "none of it"
        for word, count in times.items()
        if count < LEAST
    }


def check_path(path: Path) -> None:
    """Refuse a name that cannot be that of the file, before the work begins.

    Raises:
        InputError: With what to do.
    """
    if path.is_dir() or path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected the name of a file that ends in .html")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.absolute().parent}: no such folder to write {path.name} into; create it first")


def _reduced(whole: Explorer, some: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Explorer:
    """An explorer of some points alone, with the names that they have."""
    made = whole.map
    words, word_names = numbered_names([made.word_names[number] for number in made.words[some]])
    documents, document_names = numbered_names([made.document_names[number] for number in made.documents[some]])
    fewer = replace(
        made,
        sample=len(some),
        numbers=made.numbers[some],
        corpora=made.corpora[some],
        words=words,
        word_names=word_names,
        documents=documents,
        document_names=document_names,
        layers={name: places[some] for name, places in made.layers.items()},
    )
    labels = whole.labels
    if labels is not None:
        numbers, names = numbered_names([labels.names[number] for number in labels.labels[some]])
        labels = replace(labels, labels=numbers, names=names)
    return replace(whole, map=fewer, labels=labels)


def _base64(explorer: Explorer, name: str) -> str:
    array = explorer.arrays[name]
    return base64.b64encode(array.astype(TYPES[array.dtype.name]).tobytes()).decode("ascii")


def _sentences(explorer: Explorer) -> dict[str, JSON]:
    """Every sentence once, with where it came from; and for each point which one it is in, and where."""
    found = explorer.occurrences(np.arange(len(explorer.map)))
    known: dict[str, int] = {}
    listed: list[JSON] = []
    places: list[JSON] = []
    for one in found:
        sentence: dict[str, JSON] = {"sentence": [*one.sentence], **one.place.to_dict()}
        number = known.setdefault(json.dumps(sentence), len(listed))
        if number == len(listed):
            listed.append(sentence)
        places.append([number, one.position])
    return {"sentences": listed, "occurrences": places}


def _page(record: dict[str, JSON]) -> str:
    page, style, script = (
        (STATIC / name).read_text(encoding="utf-8") for name in ("explore.html", "explore.css", "explore.js")
    )
    # Within a script element, "</" could end it, and "<!--" could hide its end.
    data = json.dumps(record, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = f'<meta http-equiv="content-security-policy" content="{POLICY}">'
    page = page.replace("<head>", f"<head>\n{policy}", 1).replace(_LINK, f"<style>\n{style}\n</style>", 1)
    held = f'<script type="application/json" id="embedded">{data}</script>'
    code = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return page.replace(_SCRIPT, f'{held}\n<script type="module">\n{code}\n</script>', 1)
