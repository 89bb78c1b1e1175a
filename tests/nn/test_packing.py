import torch
from hypothesis import given
from hypothesis import strategies as st

from polyseme.nn.packing import Packing

lengths = st.lists(st.integers(1, 9), min_size=1, max_size=8)


@given(lengths)
def test_agrees_with_torch(sizes: list[int]) -> None:
    rows = [torch.arange(size) + 100 * number for number, size in enumerate(sizes)]
    packed = torch.nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
    packing = Packing.of(sizes)
    assert packing.batch_sizes == tuple(packed.batch_sizes.tolist())
    ours = torch.cat(rows)[packing.flat_of_packed]
    # Sequences of one length may lie in another order; each step must hold the same tokens.
    for mine, theirs in zip(ours.split(packing.batch_sizes), packed.data.split(packing.batch_sizes), strict=True):
        assert sorted(mine.tolist()) == sorted(theirs.tolist())
    assert torch.equal(ours[packing.packed_of_flat], torch.cat(rows))


@given(lengths)
def test_reverse_turns_each_sequence_within_its_length(sizes: list[int]) -> None:
    rows = [torch.arange(size) + 100 * number for number, size in enumerate(sizes)]
    packing = Packing.of(sizes)
    packed = torch.cat(rows)[packing.flat_of_packed]
    turned = packed[packing.reverse][packing.packed_of_flat]
    assert torch.equal(turned, torch.cat([row.flip(0) for row in rows]))
    assert torch.equal(packing.reverse[packing.reverse], torch.arange(len(packed)))
