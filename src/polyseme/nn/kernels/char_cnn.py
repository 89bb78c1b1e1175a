"""Convolutions over characters as sums of table rows.

The response of a filter to a character at an offset of its window is one number, which does not depend on the word. So
a convolution is a sum of rows of a table (width, characters, filters), with a sixteenth of the operations that products
of 16-d character vectors take, and its gradient goes only to the rows of the window that had the maximum.
"""

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from polyseme.nn.first_derivative import Ctx, once_differentiable
from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import pad, ready
from polyseme.nn.kernels.threads import threads


class _Filters(ctypes.Structure):
    _fields_ = (("table", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("width", "count", "blocks")))


class _Job(ctypes.Structure):
    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in ("ids", "lengths", "filters", "bias", "features", "winners", "gradients")
        ),
        *(
            (name, ctypes.c_int64)
            for name in ("words", "positions", "characters", "padding", "groups", "dim", "tanh", "threads")
        ),
    )


class Tables:
    """The tables of all filters in the order the kernel reads them; 13 MB for the published models.

    Args:
        tables: (width, characters, filters) of each convolution.
        padding_id: The character that fills a word up to its fixed length.
    """

    def __init__(self, tables: Sequence[Tensor], padding_id: int) -> None:
        built = library()
        assert built is not None
        block = 4 * built.polyseme_lanes()
        self.blocks = [_in_blocks(table, block) for table in tables]  # (blocks, width, characters, block)
        self.counts = [table.shape[2] for table in tables]
        self.characters = tables[0].shape[1]
        self.widest = max(len(table) for table in tables)
        self.padding_id = padding_id

    def like(self) -> "Tables":
        """Tables of zeros in the same layout, for gradients."""
        other = object.__new__(Tables)
        other.__dict__ = {**self.__dict__, "blocks": [torch.zeros_like(block) for block in self.blocks]}
        return other

    def plain(self) -> list[Tensor]:
        """The tables as (width, characters, filters) again."""
        return [
            block.permute(1, 2, 0, 3).flatten(2)[:, :, :count]
            for block, count in zip(self.blocks, self.counts, strict=True)
        ]

    def features(self, ids: Tensor, bias: Tensor, *, tanh: bool = False, winners: Tensor | None = None) -> Tensor:
        """The maxima over windows (U, F) of words (U, C), with the activation applied unless ``winners`` is given."""
        ids = ready(ids, torch.int64)
        if ids.shape[1] < self.widest:
            raise ValueError(f"words have {ids.shape[1]} characters, but a filter spans {self.widest}")
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < self.characters:
            raise IndexError(f"character ids must be within 0..{self.characters - 1}")
        features = torch.empty(len(ids), sum(self.counts))
        self._run("polyseme_character_cnn", ids, bias=ready(bias), features=features, winners=winners, tanh=tanh)
        return features

    def add_gradients(self, ids: Tensor, winners: Tensor, gradients: Tensor) -> None:
        """Add each feature's gradient to the rows it was summed from; ids and winners are those of `features`."""
        self._run("polyseme_character_cnn_backward", ids, winners=winners, gradients=ready(gradients))

    def _run(self, kernel: str, ids: Tensor, *, tanh: bool = False, **tensors: Tensor | None) -> None:
        lengths = ((ids != self.padding_id) * torch.arange(1, ids.shape[1] + 1)).amax(dim=1).contiguous()
        filters = (_Filters * len(self.blocks))(
            *(
                _Filters(block.data_ptr(), block.shape[1], count, len(block))
                for block, count in zip(self.blocks, self.counts, strict=True)
            )
        )
        job = _Job(
            ids=ids.data_ptr(),
            lengths=lengths.data_ptr(),
            filters=ctypes.addressof(filters),
            words=len(ids),
            positions=ids.shape[1],
            characters=self.characters,
            padding=self.padding_id,
            groups=len(self.blocks),
            dim=sum(self.counts),
            tanh=tanh,
            threads=threads(),
        )
        for name, tensor in tensors.items():
            setattr(job, name, None if tensor is None else tensor.data_ptr())
        getattr(library(), kernel)(ctypes.byref(job))


class _Maxima(torch.autograd.Function):
    """Inputs: ids, padding id, bias, then the table of each convolution."""

    @staticmethod
    def forward(ctx: Ctx, ids: Tensor, padding_id: int, bias: Tensor, *tables: Tensor) -> Tensor:
        ids = ready(ids, torch.int64)
        packed = Tables(tables, padding_id)
        winners = torch.empty(len(ids), sum(packed.counts), dtype=torch.int16)
        features = packed.features(ids, bias, winners=winners)
        ctx.packed = packed
        ctx.save_for_backward(ids, winners)
        return features

    @staticmethod
    @once_differentiable
    def backward(ctx: Ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        ids, winners = ctx.saved_tensors
        tables = ctx.packed.like()
        tables.add_gradients(ids, winners, gradients[0])
        return None, None, gradients[0].sum(dim=0), *tables.plain()


def window_maxima(ids: Tensor, padding_id: int, bias: Tensor, tables: Sequence[Tensor]) -> Tensor:
    """Maxima over windows, with gradients for ``bias`` and ``tables``: (U, C) to (U, F), before the activation."""
    result: Tensor = _Maxima.apply(ids, padding_id, bias, *tables)  # type: ignore[no-untyped-call]
    return result


def filter_table(characters: Tensor, kernel: Tensor) -> Tensor:
    """The response of each filter to each character at each offset.

    Args:
        characters: (characters, character_dim)
        kernel: (filters, character_dim, width)

    Returns:
        (width, characters, filters)
    """
    filters, dim, width = kernel.shape
    flat = characters @ kernel.permute(1, 2, 0).reshape(dim, width * filters)  # (characters, width * filters)
    table: Tensor = flat.unflatten(1, (width, filters)).transpose(0, 1)
    return table


def _in_blocks(table: Tensor, block: int) -> Tensor:
    result: Tensor = pad(ready(table), 2, block).unflatten(2, (-1, block)).permute(2, 0, 1, 3).contiguous()
    return result
