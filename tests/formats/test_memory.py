"""Files that declare or unpack to far more than they hold: refused in one line, in bounded memory."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from polyseme.errors import InputError
from polyseme.files.text_file import read_text
from polyseme.formats.files import HDF5_SIGNATURE
from polyseme.text.dictionary import Dictionary

GOLDEN = Path(__file__).parent.parent / "golden"
PAIR, MANY_LANGS = GOLDEN / "allennlp" / "two_layers", GOLDEN / "many_langs" / "words_and_characters"
HUGE = 5 << 30
BOUND = 250 << 20
"""Bytes that may be taken: that of the largest text file that is read before it is refused, and some more."""

TRY = """
import json, resource, sys
import polyseme
from polyseme.errors import PolysemeError
polyseme.load("english-small")
def peak():  # of this process alone: what getrusage gives counts the process that started it
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
with open("/proc/self/statm") as file:
    mapped = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (3 << 30),) * 2)  # a failure must not take the whole machine
before = peak()
for path in sys.argv[1:]:
    try:
        polyseme.load(path)
        said = "loaded"
    except PolysemeError as error:
        said = str(error)
    print(json.dumps([said, peak() - before]))
"""


def sparse(path: Path) -> None:
    """A file that has five gigabytes and takes none."""
    path.touch()
    os.truncate(path, HUGE)


def in_chunks(path: Path, shape: tuple[int, int], chunks: tuple[int, int], content: bytes) -> None:
    """Replace the characters of a model by an array of one chunk of this content."""
    unlimited = (None, None)
    with h5py.File(path, "r+") as file:
        del file["char_embed"]
        made = file.create_dataset("char_embed", shape, "f4", maxshape=unlimited, chunks=chunks, compression="gzip")
        made.id.write_direct_chunk((0, 0), content)


def zip_of(path: Path, compression: int, content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.write(PAIR / "options.json", "options.json")
        archive.writestr("weights.hdf5", content, compress_type=compression)


def declare(path: Path, size: int) -> None:
    """Let the second entry of a zip declare another size, in the entry and in the directory."""
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\3\4", 4)
    listed = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
    data[entry + 22 : entry + 26] = data[listed + 24 : listed + 28] = size.to_bytes(4, "little")
    path.write_bytes(data)


def hostile(folder: Path) -> dict[Path, str]:
    """Model files, and what is said of each."""
    cases: dict[Path, str] = {}

    def copy(name: str, source: Path, says: str) -> Path:
        shutil.copytree(source, folder / name)
        cases[folder / name] = says
        return folder / name

    much = HDF5_SIGNATURE + bytes(320 << 20)
    zip_of(folder / "bzip2.zip", zipfile.ZIP_BZIP2, much[: 1 << 20])
    cases[folder / "bzip2.zip"] = "weights.hdf5: packed in another way than usual in a zip; unpack it first"
    zip_of(folder / "deflated.zip", zipfile.ZIP_DEFLATED, much)
    declare(folder / "deflated.zip", 8 << 20)
    cases[folder / "deflated.zip"] = "weights.hdf5: a damaged zip entry (Bad CRC-32 for file 'weights.hdf5')"
    made = copy("large chunk", PAIR, "char_embed: a chunk: ")
    in_chunks(made / "weights.hdf5", (261, 4), (1 << 16, 1 << 13), zlib.compress(bytes(4096)))
    made = copy("swelling chunk", PAIR, "char_embed: a chunk unpacks to more than the 4,180 bytes it declares; refused")
    in_chunks(made / "weights.hdf5", (261, 4), (261, 4), zlib.compress(much))
    made = copy(
        "views", MANY_LANGS, "declares 536,870,912 bytes but stores fewer (all tensors 8,589,934,592 and 64); refused"
    )
    state = torch.load(made / "encoder.pkl", map_location="cpu")
    torch.save({name: torch.zeros(1).expand(1 << 14, 1 << 13) for name in state}, made / "encoder.pkl")
    for name, source, says in (
        ("options.json", PAIR, "options.json: more than 67,108,864 bytes, too many for its kind; refused"),
        ("vocab.txt", PAIR, "vocab.txt: more than 134,217,728 bytes, too many for its kind; refused"),
        ("char.dic", MANY_LANGS, "char.dic: more than 134,217,728 bytes, too many for its kind; refused"),
    ):
        made = copy(f"sparse {name}", source, says)
        if name == "vocab.txt":
            (made / name).write_text("<S>\n</S>\n<UNK>\n")
            os.truncate(made / name, HUGE)
        else:
            sparse(made / name)
    bundled = Path(__file__).parents[2] / "src/polyseme/bundled/english-small"
    made = copy("sparse weights", bundled, "model.safetensors: not a safetensors file, or a truncated one (it begins")
    (made / "model.safetensors").unlink()
    sparse(made / "model.safetensors")
    return cases


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
def test_no_file_takes_more_memory_than_it_should(tmp_path: Path) -> None:
    cases = hostile(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", TRY, *map(str, cases)], capture_output=True, text=True, check=True, timeout=500
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for (path, expected), (said, taken) in zip(cases.items(), lines, strict=True):
        assert expected in said, path.name
        assert "\n" not in said
        assert taken < BOUND, (path.name, taken)


def test_filters_that_nobody_bounds_are_refused(tmp_path: Path) -> None:
    import polyseme
    from polyseme.errors import FormatError

    shutil.copytree(PAIR, tmp_path / "model")
    with h5py.File(tmp_path / "model" / "weights.hdf5", "r+") as file:
        values = file["char_embed"][...]
        del file["char_embed"]
        file.create_dataset("char_embed", data=np.round(values), chunks=(261, 4), scaleoffset=2)
    with pytest.raises(FormatError, match=r"char_embed is packed by HDF5 filters 6; only gzip or lzf, with or without"):
        polyseme.load(tmp_path / "model")


@pytest.mark.parametrize(
    "options", [{"compression": "lzf"}, {"compression": "gzip", "shuffle": True, "fletcher32": True}]
)
def test_filters_that_are_read(tmp_path: Path, options: dict[str, object]) -> None:
    from polyseme.formats.detect import open_model

    shutil.copytree(PAIR, tmp_path / "model")
    with h5py.File(tmp_path / "model" / "weights.hdf5", "r+") as file:
        values = file["char_embed"][...]
        del file["char_embed"]
        file.create_dataset("char_embed", data=values, chunks=(100, 3), **options)
    assert open_model(tmp_path / "model").fingerprint() == open_model(PAIR).fingerprint()


def test_text_that_is_read_whole_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("\ufeffbank\nriver\n", encoding="utf-8")
    assert read_text(tmp_path / "words") == "bank\nriver\n"
    with pytest.raises(OSError, match=r"14 bytes, where at most 13 are expected"):
        read_text(tmp_path / "words", largest=13)
    sparse(tmp_path / "dictionary")
    with pytest.raises(InputError, match=r"dictionary: the dictionary cannot be read \(.*5,368,709,120 bytes, where"):
        Dictionary.read(tmp_path / "dictionary")
