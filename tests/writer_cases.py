"""Records to write, and plain readers of each format to check what was written."""

from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from polyseme.embed.writers import Record

SUFFIXES = (".npz", ".h5", ".parquet")
KINDS = ("all layers", "one layer", "one vector")
SETTINGS = {"model": "tiny", "layers": "all"}


def record(number: int, kind: str = "all layers", *, width: int = 8) -> Record:
    """Sentence `number`, always the same; T goes through 0, 1, 2, 3 and back to 0."""
    tokens = [f"词{number}.{place}" for place in range(number % 4)]
    shape = {"all layers": (3, len(tokens), width), "one layer": (len(tokens), width), "one vector": (width,)}[kind]
    vectors = np.random.default_rng(number).standard_normal(shape).astype(np.float32)
    return Record(
        tokens, vectors, f"P{number}", f"{number // 5}.txt", number % 5 + 1, None if number % 3 else "a novel"
    )


def read(path: Path, kind: str, count: int) -> list[npt.NDArray[np.floating]]:
    """The vectors of all sentences."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            if kind == "one vector":
                assert arrays.files == ["vectors"]
                return list(arrays["vectors"])
            assert arrays.files == [str(number) for number in range(count)]
            return [arrays[str(number)] for number in range(count)]
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            assert {name for name in file if name.isdigit()} == {str(number) for number in range(count)}
            return [file[str(number)][()] for number in range(count)]
    table = pq.read_table(path)
    columns = [name for name in table.column_names if name == "vector" or name.startswith("layer_")]
    layers = []
    for name in columns:
        flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        layers.append(flat.reshape(len(table), table.schema.field(name).type.list_size))
    stacked = np.stack(layers) if kind == "all layers" else layers[0]  # (L, N, D) or (N, D)
    sentence = table["sentence"].to_numpy()
    if kind == "one vector":
        assert sentence.tolist() == list(range(count))
        return list(stacked)
    return [stacked[..., sentence == number, :] for number in range(count)]


def same(got: list[npt.NDArray[np.floating]], kind: str, count: int, *, width: int = 8, dtype: str = "float32") -> None:
    """Check that these are the vectors of the sentences 0 to `count - 1`."""
    assert len(got) == count
    for number, array in enumerate(got):
        expected = record(number, kind, width=width).vectors.astype(dtype)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected, err_msg=f"sentence {number}", strict=True)
