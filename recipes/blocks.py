"""Blocks of consecutive sentences: kept on disk, sampled and held out by a hash, written in a shuffled order."""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

HELD_OUT = 0.005


@dataclass(frozen=True, slots=True)
class Block:
    """The position of a block in the scratch file, and the number of its sentences and tokens."""

    source: str
    number: int
    start: int
    size: int
    sentences: int
    tokens: int

    @property
    def key(self) -> bytes:
        """A pseudo-random number that is the same on every machine and in every run."""
        return hashlib.blake2b(f"{self.source}/{self.number}".encode(), digest_size=8).digest()


def store(lines: list[str], source: str, number: int, scratch: BinaryIO) -> Block:
    """Write a block to the scratch file."""
    content = "".join(f"{line}\n" for line in lines).encode("utf-8")
    start = scratch.tell()
    scratch.write(content)
    return Block(source, number, start, len(content), len(lines), sum(line.count(" ") + 1 for line in lines))


def capped(blocks: list[Block], cap: int | None) -> list[Block]:
    """Blocks drawn from the whole source until they have as many tokens as its cap allows."""
    if cap is None:
        return blocks
    drawn: list[Block] = []
    tokens = 0
    for block in sorted(blocks, key=lambda block: block.key):
        if tokens + block.tokens <= cap:
            drawn.append(block)
            tokens += block.tokens
    return sorted(drawn, key=lambda block: block.number)


def split(blocks: list[Block]) -> tuple[list[Block], list[Block]]:
    """Training and held-out blocks of one source: the share `HELD_OUT`, and at least one block of two or more."""
    share = min(len(blocks) - 1, max(1, round(HELD_OUT * len(blocks))))
    # Not the key itself, which already decided what the cap keeps.
    held = {block.number for block in sorted(blocks, key=lambda block: block.key[::-1])[: max(0, share)]}
    return [b for b in blocks if b.number not in held], [b for b in blocks if b.number in held]


def write(blocks: Iterable[Block], scratch: BinaryIO, path: Path, *, seed: int) -> None:
    """Write blocks in a shuffled order, all sources mixed."""
    order = list(blocks)
    random.Random(seed).shuffle(order)
    with path.open("wb") as file:
        for block in order:
            scratch.seek(block.start)
            file.write(scratch.read(block.size))
