"""Archives that the program wrote itself are never packed."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from polyseme.errors import FormatError
from polyseme.files.plain_zip import check_plain_zip
from polyseme.index.shard_writer import ShardWriter
from polyseme.train.engine import checkpoint


def test_what_numpy_and_torch_write_is_accepted(tmp_path: Path) -> None:
    np.savez(tmp_path / "arrays.npz", one=np.zeros(1000))
    torch.save({"one": torch.zeros(1000)}, tmp_path / "state.pt")
    (tmp_path / "text").write_text("no zip")
    for name in ("arrays.npz", "state.pt", "text"):
        check_plain_zip(tmp_path / name)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packed_entries_are_refused_before_they_are_unpacked(tmp_path: Path, compression: int) -> None:
    path = tmp_path / "packed"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("vectors.npy", bytes(1 << 20))
    with pytest.raises(ValueError, match=r"^it would unpack to 1,048,576 bytes and has [\d,]+$"):
        check_plain_zip(path)
    with pytest.raises(
        FormatError, match=r"packed: cannot be read or is damaged \(it would unpack to .*\); begin again"
    ):
        ShardWriter.restore(path, 4, advice="begin again")
    with pytest.raises(
        FormatError, match=r"packed: not a checkpoint .* \(it would unpack to .*\); delete .* and begin"
    ):
        checkpoint.load(path)
