"""No sentence of either side is on both sides of the split."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyseme.train.translate.split import groups_of, hold_out

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40)


def _components(pairs: list[tuple[int, int]]) -> list[set[int]]:
    """Slowly: merge until nothing changes."""
    found = [{number} for number in range(len(pairs))]
    while True:
        for one in found:
            for two in found:
                shared = any(pairs[a][side] == pairs[b][side] for a in one for b in two for side in (0, 1))
                if one is not two and shared:
                    found = [some for some in found if some is not one and some is not two] + [one | two]
                    break
            else:
                continue
            break
        else:
            return found


@given(PAIRS)
def test_groups_are_the_connected_pairs(pairs: list[tuple[int, int]]) -> None:
    groups = groups_of([a for a, _ in pairs], [b for _, b in pairs])
    assert {frozenset(np.flatnonzero(groups == group).tolist()) for group in groups} == {
        frozenset(some) for some in _components(pairs)
    }


@given(PAIRS, st.integers(0, 40), st.integers(0, 5))
def test_no_sentence_is_in_both_parts(pairs: list[tuple[int, int]], wanted: int, seed: int) -> None:
    groups = groups_of([a for a, _ in pairs], [b for _, b in pairs])
    chosen = hold_out(groups, wanted=wanted, seed=seed)
    assert chosen.sum() <= wanted
    assert not chosen.all()
    for side in (0, 1):
        parts = [
            {pair[side] for pair, held in zip(pairs, chosen, strict=True) if held == part} for part in (True, False)
        ]
        assert not parts[0] & parts[1]


def test_as_many_as_wanted_are_held_out() -> None:
    groups = groups_of(list(range(1000)), list(range(1000)))
    one, two = (hold_out(groups, wanted=50, seed=seed) for seed in (1, 2))
    assert one.sum() == two.sum() == 50
    assert (one != two).any()
