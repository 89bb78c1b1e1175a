"""Spans in columns: ``(ARG0* * *)`` for the arguments of a predicate, ``(3|(7) ... 3)`` for mentions."""

import re
from collections.abc import Mapping, Sequence

from polyseme.errors import InputError
from polyseme.tasks.examples import Span
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import DOUBLE_MENTION, TWO_CLUSTERS, UNCLOSED_SPAN, UNPAIRED_MENTION

_OPENED = re.compile(r"\(([^()*]+)")
_CELL = re.compile(r"((?:\([^()*]+)*)\*(\)*)")
# What is neither opened nor closed matches too and is refused; else a long cell is searched from each of its places.
_MENTION = re.compile(r"(?P<opened>\()?(?P<name>[^()|\s]+)(?P<closed>\))?")
NO_MENTION = frozenset(("-", "_", "*", ""))

Clusters = tuple[tuple[tuple[int, int], ...], ...]


def argument_spans(reading: Reading, cells: Sequence[str], lines: Sequence[int]) -> tuple[Span, ...]:
    """The spans of one predicate's column; what is open at the end of the sentence ends there and is counted."""
    opened: list[tuple[int, str]] = []
    spans: list[Span] = []
    for position, (cell, line) in enumerate(zip(cells, lines, strict=True)):
        match = _CELL.fullmatch(cell)
        if match is None or len(match[2]) > len(opened) + match[1].count("("):
            raise InputError(
                f"{reading.at(line)}: {cell!r} where an argument is expected as (ARG0*, *, *) or (ARG0*), every end "
                "with its beginning; correct the line"
            )
        opened += [(position, label) for label in _OPENED.findall(match[1])]
        for _ in match[2]:
            start, label = opened.pop()
            spans.append(Span(start, position + 1, label))
    for start, label in opened:
        reading.count(UNCLOSED_SPAN, reading.at(lines[start]))
        spans.append(Span(start, len(cells), label))
    return tuple(sorted(spans, key=lambda span: (span.start, -span.end)))


def bracketed(spans: Sequence[Span], length: int) -> list[str]:
    """The cells of a column with these spans; longer ones are opened first.

    Example:
        >>> bracketed([Span(0, 2, "ARG0"), Span(2, 3, "V")], 4)
        ['(ARG0*', '*)', '(V*)', '*']
    """
    before, behind = [""] * length, [""] * length
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        before[span.start] += f"({span.label}"
        behind[span.end - 1] += ")"
    return [f"{first}*{last}" for first, last in zip(before, behind, strict=True)]


def mention_clusters(reading: Reading, cells: Sequence[str], lines: Sequence[int]) -> Clusters:
    """The clusters of a document's column, in the order of their first mentions."""
    opened: dict[str, list[int]] = {}
    home: dict[tuple[int, int], str] = {}  # the cluster of each mention

    def add(name: str, start: int, end: int) -> None:
        if (start, end) in home:
            repair = DOUBLE_MENTION if home[start, end] == name else TWO_CLUSTERS
            reading.count(repair, reading.at(lines[end - 1]))
        home.setdefault((start, end), name)

    for position, cell in enumerate(cells):
        place = reading.at(lines[position])
        for piece in _pieces(cell, place):
            name = piece["name"]
            if piece["opened"] and piece["closed"]:
                add(name, position, position + 1)
            elif piece["opened"]:
                opened.setdefault(name, []).append(position)
            elif opened.get(name):
                add(name, opened[name].pop(), position + 1)
            else:
                reading.count(UNPAIRED_MENTION, place)
    for start in sorted(start for starts in opened.values() for start in starts):
        reading.count(UNPAIRED_MENTION, reading.at(lines[start]))
    return gathered(home)


def gathered(home: Mapping[tuple[int, int], str]) -> Clusters:
    """The clusters in the order of their first mentions.

    Args:
        home: The name of each mention's cluster.

    Example:
        >>> gathered({(4, 5): "b", (2, 3): "a", (0, 1): "b"})
        (((0, 1), (4, 5)), ((2, 3),))
    """
    clusters: dict[str, list[tuple[int, int]]] = {}
    for mention in sorted(home):
        clusters.setdefault(home[mention], []).append(mention)
    return tuple(map(tuple, clusters.values()))


def _pieces(cell: str, place: str) -> list[re.Match[str]]:
    if cell in NO_MENTION:
        return []
    pieces = list(_MENTION.finditer(cell))
    marked = all(piece["opened"] or piece["closed"] for piece in pieces)
    if not marked or "".join(piece[0] for piece in pieces) != cell.replace("|", ""):
        raise InputError(f"{place}: {cell[:60]!r} where mentions are expected as (3, (3) or 3), with | between them")
    return pieces


def mention_cells(clusters: Clusters, length: int, *, empty: str = "-", between: str = "|") -> list[str]:
    """The cells of a column with these clusters, numbered from 0.

    Two mentions of one cluster that cross cannot be written: they read back as one inside the other.

    Args:
        clusters: The clusters.
        length: The number of tokens.
        empty: Stands where no mention begins or ends.
        between: Stands between the mentions of a token.

    Example:
        >>> mention_cells((((0, 2), (3, 4)),), 5)
        ['(0', '0)', '-', '(0)', '-']
    """
    before: list[list[str]] = [[] for _ in range(length)]
    behind: list[list[str]] = [[] for _ in range(length)]
    mentions = [(start, end, number) for number, cluster in enumerate(clusters) for start, end in cluster]
    for start, end, number in sorted(mentions, key=lambda mention: (mention[0], -mention[1])):
        if end - start == 1:
            behind[start].insert(0, f"({number})")
        else:
            before[start].append(f"({number}")
            behind[end - 1].append(f"{number})")
    return [between.join(first + last) or empty for first, last in zip(before, behind, strict=True)]
