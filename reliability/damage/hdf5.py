"""Damages HDF5 files: arrays of another type, shape, storage or place, groups, links and attributes."""

import io
import random
import zlib
from collections.abc import Callable

import h5py
import numpy as np

from reliability.damage.plain import damage_bytes

_TYPES = ("f2", "f8", "i1", "i4", "u8", "c8", "S5", "?")


def damage_hdf5(data: bytes, draw: random.Random) -> bytes:
    """An HDF5 file with one of its arrays changed, and sometimes its bytes."""
    if draw.random() < 0.35:
        return damage_bytes(data, draw)
    held = io.BytesIO(data)
    try:
        with h5py.File(held, "r+") as file:
            names: list[str] = []
            file.visititems(lambda name, one: names.append(name) if isinstance(one, h5py.Dataset) else None)
            if names:
                draw.choice(_CHANGES)(file, draw.choice(names), draw)
    except Exception:  # damaged before, or a change that HDF5 itself refuses
        return damage_bytes(data, draw)
    return held.getvalue()


def _replace(file: h5py.File, name: str, values: object, **options: object) -> None:
    del file[name]
    file.create_dataset(name, data=values, **options)


def _drop(file: h5py.File, name: str, draw: random.Random) -> None:
    del file[name]


def _rename(file: h5py.File, name: str, draw: random.Random) -> None:
    file.move(name, draw.choice((name + "_", name.upper(), "a/b/c", "é")))


def _type(file: h5py.File, name: str, draw: random.Random) -> None:
    values, kind = file[name][()], draw.choice(_TYPES)
    _replace(file, name, np.zeros(values.shape, kind) if kind == "S5" else values.astype(kind))


def _shape(file: h5py.File, name: str, draw: random.Random) -> None:
    values = file[name][()]
    _replace(
        file, name, draw.choice((values.reshape(-1), values.T, values[:1], values[:0], values[None], values.sum()))
    )


def _odd_numbers(file: h5py.File, name: str, draw: random.Random) -> None:
    values = np.array(file[name][()], dtype="f4")
    values.reshape(-1)[draw.randrange(values.size)] = draw.choice((np.nan, np.inf, -np.inf, 3e38, 1e-42))
    _replace(file, name, values)


def _declared(file: h5py.File, name: str, draw: random.Random) -> None:
    """An array that declares far more than it stores."""
    shape = draw.choice(((1 << 30,), (1 << 20, 1 << 12), (1 << 40, 4), (0, 1 << 40), (), (1,) * 20))
    del file[name]
    chunks = None if not shape or draw.random() < 0.5 else tuple(min(64, one or 1) for one in shape)
    file.create_dataset(name, shape, draw.choice(("f4", "f8", "i8")), chunks=chunks)


def _chunk(file: h5py.File, name: str, draw: random.Random) -> None:
    """One chunk, larger than the array or unpacking to more than it should."""
    values = file[name][()]
    if values.ndim != 2:
        return
    chunks = draw.choice((values.shape, (1 << 12, 1 << 12), (1 << 15, 1 << 13), (7, 3)))
    del file[name]
    made = file.create_dataset(name, values.shape, "f4", maxshape=(None, None), chunks=chunks, compression="gzip")
    content = draw.choice((zlib.compress(bytes(30 << 20)), zlib.compress(values.tobytes()), draw.randbytes(50), b""))
    made.id.write_direct_chunk((0, 0), content)


def _filters(file: h5py.File, name: str, draw: random.Random) -> None:
    values = file[name][()]
    options = draw.choice(
        (
            {"compression": "gzip"},
            {"compression": "lzf", "shuffle": True},
            {"fletcher32": True},
            {"scaleoffset": 2},
            {"compression": "gzip", "shuffle": True, "fletcher32": True},
        )
    )
    _replace(file, name, values, chunks=True, **options)


def _link(file: h5py.File, name: str, draw: random.Random) -> None:
    del file[name]
    file[name] = draw.choice(
        (
            h5py.SoftLink("/" + name),
            h5py.SoftLink("/"),
            h5py.ExternalLink("/dev/zero", "/"),
            h5py.ExternalLink("x", "y"),
        )
    )


def _group(file: h5py.File, name: str, draw: random.Random) -> None:
    del file[name]
    group = file.create_group(name)
    if draw.random() < 0.5:
        group["again"] = file  # a loop


def _outside(file: h5py.File, name: str, draw: random.Random) -> None:
    """An array whose numbers are in another file."""
    shape = file[name].shape
    del file[name]
    if draw.random() < 0.5:
        file.create_dataset(name, shape, "f4", external=[("/dev/zero", 0, h5py.h5f.UNLIMITED)])
    else:
        layout = h5py.VirtualLayout(shape, "f4")
        layout[...] = h5py.VirtualSource("/dev/zero", "x", shape)
        file.create_virtual_dataset(name, layout)


def _strings(file: h5py.File, name: str, draw: random.Random) -> None:
    shape = file[name].shape
    del file[name]
    file.create_dataset(name, shape or (1,), h5py.string_dtype())


def _attributes(file: h5py.File, name: str, draw: random.Random) -> None:
    file[name].attrs[draw.choice(("scale", "x" * 500))] = draw.choice((1, "a", np.zeros(4000), h5py.Empty("f4")))


def _null(file: h5py.File, name: str, draw: random.Random) -> None:
    _replace(file, name, h5py.Empty("f4"))


_CHANGES: tuple[Callable[[h5py.File, str, random.Random], None], ...] = (
    *(_drop, _rename, _type, _shape, _odd_numbers, _declared, _declared, _chunk, _chunk, _filters, _link, _group),
    *(_outside, _strings, _attributes, _null),
)
