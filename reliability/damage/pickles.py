"""Damages what torch saved: tensors of another kind, views that declare more than they store, and other objects."""

import collections
import io
import os
import random
from typing import Any

import torch
from torch import Tensor

from reliability.damage.plain import damage_bytes
from reliability.damage.values import odd


class _Runs:
    """Runs a command when it is unpickled by a careless reader."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (97,)


def damage_state(data: bytes, draw: random.Random) -> bytes:
    """A file saved by torch with one of its values changed."""
    try:
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception:  # damaged before
        return damage_bytes(data, draw)
    places = list(_places(state))
    if not places or draw.random() < 0.05:
        state = draw.choice((odd(draw), torch.zeros(3), [torch.zeros(3)], _Runs(), set(), collections.Counter("ab")))
    else:
        holder, key = draw.choice(places)
        now = holder[key]
        if draw.random() < 0.2 and isinstance(holder, dict):
            holder[draw.choice(("x", 7, "", str(key) + ".x"))] = holder.pop(key)
        else:
            holder[key] = _tensor(now, draw) if isinstance(now, Tensor) and draw.random() < 0.8 else _other(draw)
    made = io.BytesIO()
    try:
        torch.save(state, made, _use_new_zipfile_serialization=draw.random() < 0.8)
    except Exception:  # a value that torch itself does not save
        return damage_bytes(data, draw)
    return made.getvalue()


def _places(value: Any) -> Any:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            yield one, key
            waiting.append(one[key])


def _other(draw: random.Random) -> Any:
    return draw.choice((odd(draw), _Runs(), torch.zeros(2), {"a": torch.zeros(1)}, torch.float16, torch.Size([3])))


def _tensor(now: Tensor, draw: random.Random) -> Any:
    """Another tensor in the place of one."""
    kind = draw.randrange(10)
    if kind == 0:
        return torch.zeros(1).expand(draw.choice(((1 << 20,), (1 << 14, 1 << 13), (1 << 40,))))
    if kind == 1:
        return now.to(
            draw.choice((torch.float64, torch.bfloat16, torch.int64, torch.complex64, torch.bool, torch.uint8))
        )
    if kind == 2 and now.is_floating_point() and now.numel():
        changed = now.clone()
        changed.view(-1)[draw.randrange(now.numel())] = draw.choice((float("nan"), float("inf"), 3e38, -1e30))
        return changed
    if kind == 3:
        return (
            draw.choice((now.reshape(-1), now[None], now[:1], now.t() if now.dim() == 2 else now[:0]))
            if now.dim()
            else now
        )
    if kind == 4:
        return now.to_sparse() if now.dim() else now
    if kind == 5:
        return torch.nn.Parameter(now.float())
    if kind == 6:
        return torch.empty(draw.choice(((3,), (1 << 30, 1 << 20))), device="meta")
    if kind == 7:
        return torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8)
    if kind == 8:
        return torch.as_strided(torch.zeros(10), (4, 4), draw.choice(((1, 1), (0, 0), (2, 1))))
    return torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
