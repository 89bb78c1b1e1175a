"""Reads the wire format of protocol buffers: numbered fields that contain numbers or bytes."""

from polyseme.errors import FormatError


def damaged(where: str, what: str) -> FormatError:
    """Return the error for a file whose contents are inconsistent."""
    return FormatError(f"{where}: {what}; the file is damaged or truncated, copy it from its source again")


def read_varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    """Return the number that starts at a position, with seven bits per byte, and the position after it."""
    value = 0
    for step, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, at + step + 1
    raise damaged(where, f"the number at byte {at} has no end")


class Message:
    """The fields of one message.

    Args:
        data: The message.
        where: Its name in errors.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self.where = where
        self._fields: dict[int, list[int | bytes]] = {}
        at = 0
        while at < len(data):
            tag, at = read_varint(data, at, where)
            number, kind = tag >> 3, tag & 7
            value: int | bytes
            if kind == 0:
                value, at = read_varint(data, at, where)
            elif kind in (1, 2, 5):
                size = 8 if kind == 1 else 4
                if kind == 2:
                    size, at = read_varint(data, at, where)
                if at + size > len(data):
                    raise damaged(where, f"field {number} is longer than its message")
                value, at = data[at : at + size], at + size
            else:
                raise damaged(where, f"field {number} is of the unknown kind {kind}")
            self._fields.setdefault(number, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def count(self, number: int) -> int:
        """Return the value of a field that is a non-negative number; a missing field is 0."""
        value = self._fields.get(number, [0])[-1]
        if isinstance(value, bytes) or value >= 1 << 63:
            raise damaged(self.where, f"field {number} is not a non-negative number")
        return value

    def fixed(self, number: int) -> int:
        """Return the value of a field that is a number of four bytes; a missing field is 0."""
        value = self._fields.get(number, [bytes(4)])[-1]
        if isinstance(value, int) or len(value) != 4:
            raise damaged(self.where, f"field {number} is not a number of four bytes")
        return int.from_bytes(value, "little")

    def messages(self, number: int) -> "list[Message]":
        """Return the messages in a repeated field; a missing field has none."""
        found = []
        for value in self._fields.get(number, []):
            if isinstance(value, int):
                raise damaged(self.where, f"field {number} is a number, expected a message")
            found.append(Message(value, self.where))
        return found
