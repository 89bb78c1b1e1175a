"""CRC-32C against its published values and a plain loop."""

import random

import numpy as np
import pytest

from polyseme.formats import crc32c as module
from polyseme.formats.crc32c import crc32c, masked


@pytest.mark.parametrize(
    ("data", "value"),
    [  # RFC 3720, B.4, and the check value of the catalogues
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_the_published_values(data: bytes, value: int) -> None:
    assert crc32c(data) == value
    assert crc32c(np.frombuffer(data, np.uint8)) == value


def test_the_mask_is_a_rotation_and_an_offset() -> None:
    crc = 0xE3069283
    assert masked(crc) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def plain(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_any_length_in_any_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    monkeypatch.setattr(module, "_PIECE", 1000)
    for size in (*range(1, 70), 127, 128, 999, 1000, 1001, 4567):
        data = draw.randbytes(size)
        cut = draw.randrange(size + 1)
        assert crc32c(data) == plain(data), size
        assert crc32c(data[cut:], crc32c(data[:cut])) == plain(data), (size, cut)
