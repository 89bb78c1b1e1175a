"""Damages JSON values: wrong types, missing and surplus fields, numbers out of range, deep nesting."""

import copy
import json
import random
from typing import Any

from reliability.damage.plain import damage_bytes

_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 64, 255, 4096, 1 << 20, 1 << 31, 1 << 40, 1 << 63, 1 << 70, -(1 << 63)),
    *(0.5, -0.0, 1e-300, 1e300, -1e300, float("nan"), float("inf"), -float("inf")),
    *("", "a", "\0", "\ud800", "🏞️", "../../etc/passwd", "/dev/zero", "-", "nan", "relu", "x" * 5000, "1", "auto"),
    *([], {}, [[]], [None], [[1, 2], [3]], {"": None}, {"a": {"a": {}}}, [0] * 3000, [[1, 10**9]], [1e999]),
)
_RAW = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b"[" * 30_000,
    b'{"a":' * 30_000,
    b"9" * 6000,
    b"\xff\xfe{\0}\0",
    b"\xef\xbb\xbf{}",
    b'{"a": 1, "a": 2}',
    b"{} {}",
    b'"\\ud800"',
    b"-",
    b"NaN",
)
_DEEP = 3000


def damage_json(data: bytes, draw: random.Random) -> bytes:
    """A JSON file with some of its values changed, or with bytes that are no JSON at all."""
    chance = draw.random()
    if chance < 0.15:
        return damage_bytes(data, draw)
    if chance < 0.2:
        return draw.choice(_RAW)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return damage_bytes(data, draw)
    try:
        for _ in range(draw.choice((1, 1, 2, 3))):
            value = damage_value(value, draw)
        return json.dumps(value, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    except RecursionError:
        return draw.choice(_RAW)


def damage_json_lines(data: bytes, draw: random.Random) -> bytes:
    """JSON lines with one of them changed."""
    lines = data.splitlines()
    if not lines or draw.random() < 0.2:
        return damage_bytes(data, draw)
    at = draw.randrange(len(lines))
    lines[at] = damage_json(lines[at], draw)
    return b"\n".join(lines) + b"\n"


def damage_value(value: Any, draw: random.Random) -> Any:
    """A copy of a JSON value that differs at one place."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places or draw.random() < 0.03:
        return odd(draw)
    holder, key = draw.choice(places)
    _change(holder, key, draw)
    return value


def odd(draw: random.Random) -> Any:
    """A value that is rarely expected."""
    if draw.random() < 0.03:
        nested: Any = 0
        for _ in range(_DEEP):
            nested = [nested]
        return nested
    return copy.deepcopy(draw.choice(_ODD))


def _places(value: Any) -> Any:
    """Every list or object in a value with each of its indexes or keys."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            keys = list(one) if isinstance(one, dict) else range(len(one))
            for key in keys:
                yield one, key
                waiting.append(one[key])


def _change(holder: Any, key: Any, draw: random.Random) -> None:
    now = holder[key]
    kind = draw.randrange(7)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(now, int | float) and not isinstance(now, bool):
        holder[key] = draw.choice((now + 1, now - 1, -now, now * 2, now * 1000, now / 2, float(now), str(now)))
    elif kind == 2:
        holder[key] = [now] if draw.random() < 0.5 else {"value": now}
    elif kind == 3 and isinstance(holder, dict):
        holder[draw.choice(("extra", "", str(key).upper(), str(key) + " "))] = now
        if draw.random() < 0.5:
            del holder[key]
    elif kind == 4 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(now)] * draw.choice((1, 1, 500))
    elif kind == 5:
        other = draw.choice(list(_places(holder)))
        holder[key] = copy.deepcopy(other[0][other[1]])
    else:
        holder[key] = odd(draw)
