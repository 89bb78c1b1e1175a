"""Which partner each is given so that the sum of the weights is greatest: Kuhn's Hungarian method.

Source: Kuhn 1955; Jonker and Volgenant 1987 for the shortest augmenting paths.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def best_assignment(weights: Mapping[tuple[int, int], float]) -> float:
    """The greatest sum of weights of pairs in which nobody occurs twice; pairs that are not named weigh 0.

    Whoever has no common partner, not even through others, is solved apart, so that tables stay small.

    Example:
        >>> best_assignment({(0, 0): 5.0, (0, 1): 4.0, (1, 0): 4.0})
        8.0
    """
    return sum((_best(group) for group in _groups(weights)), 0.0)


def _groups(weights: Mapping[tuple[int, int], float]) -> list[dict[tuple[int, int], float]]:
    """The weights, apart for each connected group of rows and columns."""
    leader: dict[tuple[str, int], tuple[str, int]] = {}

    def find(node: tuple[str, int]) -> tuple[str, int]:
        while leader.setdefault(node, node) != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for row, column in weights:
        leader[find(("row", row))] = find(("column", column))
    groups: dict[tuple[str, int], dict[tuple[int, int], float]] = {}
    for (row, column), weight in weights.items():
        groups.setdefault(find(("row", row)), {})[row, column] = weight
    return list(groups.values())


def _best(weights: Mapping[tuple[int, int], float]) -> float:
    rows = {row: place for place, row in enumerate(sorted({row for row, _ in weights}))}
    columns = {column: place for place, column in enumerate(sorted({column for _, column in weights}))}
    table = np.zeros((len(rows), len(columns)))
    for (row, column), weight in weights.items():
        table[rows[row], columns[column]] = weight
    if len(rows) > len(columns):
        table = table.T
    chosen = _assign(-table)
    return float(table[np.arange(len(chosen)), chosen].sum())


def _assign(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The column of each row for the least total cost, for at most as many rows R as columns C.

    Rows are added one by one; each is placed along the shortest path, in reduced costs, to a free column.
    """
    rows, columns = costs.shape
    row_price, column_price = np.zeros(rows), np.zeros(columns + 1)
    row_of = np.full(columns + 1, -1)  # the last place stands for the row that is being added
    for row in range(rows):
        row_of[columns] = row
        column = columns
        distance, before = np.full(columns, np.inf), np.full(columns, -1)
        seen = np.zeros(columns + 1, bool)
        while row_of[column] >= 0:
            seen[column] = True
            here = row_of[column]
            reduced = costs[here] - row_price[here] - column_price[:columns]  # (C,)
            nearer = ~seen[:columns] & (reduced < distance)
            distance[nearer], before[nearer] = reduced[nearer], column
            open_distance = np.where(seen[:columns], np.inf, distance)
            following = int(open_distance.argmin())
            step = open_distance[following]
            row_price[row_of[seen]] += step
            column_price[seen] -= step
            distance[~seen[:columns]] -= step
            column = following
        while column != columns:
            row_of[column] = row_of[before[column]]
            column = int(before[column])
    found = np.empty(rows, np.int64)
    for column in range(columns):
        if row_of[column] >= 0:
            found[row_of[column]] = column
    return found
