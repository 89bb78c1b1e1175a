"""The footer of a Parquet file, taken apart and put together: Thrift's compact protocol, as far as footers use it.

pyarrow cannot add to a file. With this, row groups of several files that stand one after the other become those of one.
Field numbers are those of Parquet's `parquet.thrift`.
"""

import struct
from collections.abc import Iterable
from typing import cast

Value = int | float | bytes | bool | tuple[int, list["Value"]] | dict[int, tuple[int, "Value"]]
"""A number, a text, a list with the type of its elements, or a struct: fields with their types."""
Struct = dict[int, tuple[int, Value]]

_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 7, 8, 9, 12
_INTEGERS = (4, 5, 6)
_ROWS, _ROW_GROUPS = 3, 4  # of FileMetaData
_COLUMNS, _GROUP_PLACE, _ORDINAL = 1, 5, 7  # of RowGroup
_CHUNK_PLACES, _CHUNK = (2, 4, 6), 3  # of ColumnChunk
_PAGE_PLACES = (9, 10, 11, 14)  # of ColumnMetaData
_MAX_ORDINAL = 2**15 - 1


def parsed(footer: bytes) -> Struct:
    """A footer as fields.

    Raises:
        ValueError: It is none.
    """
    return _Reader(footer).struct()


def joined(footers: Iterable[tuple[int, Struct]]) -> bytes:
    """The end of a file from the footers of files that stand in it one after the other.

    Args:
        footers: Where each file begins, and its footer; at least one.
    """
    whole: Struct = {}
    groups: list[Value] = []
    rows = 0
    for start, described in footers:
        whole = whole or described
        rows += cast("int", described[_ROWS][1])
        for group in cast("tuple[int, list[Struct]]", described[_ROW_GROUPS][1])[1]:
            groups.append(_moved_group(group, start, len(groups)))
    whole |= {_ROWS: (6, rows), _ROW_GROUPS: (_LIST, (_STRUCT, groups))}
    encoded = _struct(whole)
    return encoded + struct.pack("<I", len(encoded)) + _MAGIC


def _moved_group(group: Struct, start: int, number: int) -> Struct:
    for chunk in cast("tuple[int, list[Struct]]", group[_COLUMNS][1])[1]:
        _move(chunk, _CHUNK_PLACES, start)
        _move(cast("Struct", chunk[_CHUNK][1]), _PAGE_PLACES, start)
    _move(group, (_GROUP_PLACE,), start)
    group.pop(_ORDINAL, None)
    return group if number > _MAX_ORDINAL else group | {_ORDINAL: (4, number)}


def _move(fields: Struct, places: Iterable[int], start: int) -> None:
    for field in places:
        if field in fields and fields[field][1]:  # 0 stands for none
            kind, place = fields[field]
            fields[field] = kind, cast("int", place) + start


class _Reader:
    """Reads values from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def struct(self) -> Struct:
        """A struct, up to its end."""
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = head & 15, self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Value:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _BYTE:
            return self._byte()
        if kind == _DOUBLE:
            return float(struct.unpack("<d", self._bytes(8))[0])
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _LIST:
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            inner = _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15  # truth values in lists are whole bytes
            return head & 15, [self._value(inner) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct()
        raise ValueError(f"a value of type {kind} in a footer")

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._place : self._place + count]
        if len(found) != count:
            raise ValueError("the footer ends too early")
        self._place += count
        return found

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _zigzag(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)


def _struct(fields: Struct) -> bytes:
    parts = []
    before = 0
    for number, (given, value) in sorted(fields.items()):
        kind = (_TRUE if value else _FALSE) if given in (_TRUE, _FALSE) else given
        near = 0 < number - before < 16
        parts.append(bytes([(number - before) << 4 | kind]) if near else bytes([kind]) + _zigzag(number))
        if kind not in (_TRUE, _FALSE):
            parts.append(_encoded(kind, value))
        before = number
    return b"".join(parts) + b"\0"


def _encoded(kind: int, value: Value) -> bytes:
    if isinstance(value, bytes):
        return _varint(len(value)) + value
    if isinstance(value, tuple):
        inner, values = value
        size = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([0xF0 | inner]) + _varint(len(values))
        return size + b"".join(_encoded(_BYTE if inner in (_TRUE, _FALSE) else inner, each) for each in values)
    if isinstance(value, dict):
        return _struct(value)
    if kind == _DOUBLE:
        return struct.pack("<d", value)
    return bytes([int(value)]) if kind == _BYTE else _zigzag(int(value))


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else ~(number << 1))


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
