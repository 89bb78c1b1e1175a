"""Damages a folder of files, each by what it contains."""

import os
import random
import shutil
from pathlib import Path

from reliability.damage.containers import (
    damage_gzip,
    damage_npy,
    damage_safetensors,
    damage_table,
    damage_zip,
)
from reliability.damage.hdf5 import damage_hdf5
from reliability.damage.plain import damage_bytes
from reliability.damage.texts import damage_text
from reliability.damage.values import damage_json, damage_json_lines

_TORCH = (".pt", ".pkl", ".pth")
_LARGEST_SPARSE = 300 << 20
_LARGEST_READ = 16 << 20


def damage_content(name: str, data: bytes, draw: random.Random) -> bytes:
    """A file's bytes, damaged as fits what they are."""
    suffix = Path(name).suffix
    if suffix in _TORCH and draw.random() < 0.5:
        from reliability.damage.pickles import damage_state  # needs torch, which most of this does not

        return damage_state(data, draw)
    if data.startswith(b"PK\3\4"):
        return damage_zip(data, draw, damage_content)
    if data.startswith(b"\x89HDF"):
        return damage_hdf5(data, draw)
    if data.startswith(b"\x1f\x8b"):
        return damage_gzip(data, draw, damage_content)
    if data.startswith(b"\x93NUMPY"):
        return damage_npy(data, draw)
    if suffix == ".safetensors":
        return damage_safetensors(data, draw)
    if suffix == ".index":
        return damage_table(data, draw)
    if suffix == ".jsonl":
        return damage_json_lines(data, draw)
    if suffix == ".json" or data[:1] in (b"{", b"["):
        return damage_json(data, draw)
    if b"\0" not in data[:1000] and suffix not in (".pkl", ".faiss"):
        return damage_text(data, draw)
    return damage_bytes(data, draw)


def damage_folder(folder: Path, draw: random.Random) -> None:
    """Damage one to three files of a folder, or which files there are."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            return
        path, chance = draw.choice(files), draw.random()
        if chance < 0.95:
            if path.stat().st_size >= _LARGEST_READ:
                continue  # it was made so large by damage before this one
            path.write_bytes(damage_content(path.name, path.read_bytes(), draw))
        else:
            _replace(path, files, draw)


def _replace(path: Path, files: list[Path], draw: random.Random) -> None:
    """Put something else in the place of a file."""
    kind = draw.randrange(8)
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(b"")
    elif kind == 2:
        path.unlink()
        path.mkdir()
    elif kind == 3:
        other = draw.choice(files)
        if other != path:
            shutil.copy(other, path)
    elif kind == 4:
        path.unlink()
        path.symlink_to(draw.choice(("/dev/null", "nowhere", path.name)))
    elif kind == 5:
        os.truncate(path, draw.randrange(_LARGEST_SPARSE))
    elif kind == 6:
        path.rename(path.with_name(path.name + draw.choice((".bak", "2", " "))))
    else:
        path.write_bytes(draw.randbytes(draw.choice((1, 30, 5000))))
