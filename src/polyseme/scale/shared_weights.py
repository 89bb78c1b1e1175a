"""One copy of the weights for all workers of a machine.

A worker writes each large tensor to a file that is named after its content, in a folder that only this user can open,
and maps that file into memory instead of keeping its own copy. The next worker finds the file. The system holds the
pages of a file once, however many processes have mapped it. A file may be deleted at any time: those who have it mapped
keep it.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor

from polyseme.embed.combined_vectors import CombinedVectors
from polyseme.embed.embedder import Embedder
from polyseme.embed.source import VectorSource
from polyseme.files.whole import whole_file
from polyseme.nn.kernels.packed import set_keeper

_SMALLEST = 1 << 16
"""Bytes. Smaller tensors are not worth a file."""
_LEFT_OVER = 24 * 3600.0
"""Seconds after which a file was left by a worker that was killed."""


class SharedWeights:
    """Tensors in files that processes of this machine map.

    Args:
        folder: Where the files are; None to share nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._used: set[Path] = set()

    @classmethod
    def open(cls) -> "SharedWeights":
        """Use the folder of this user; without one that is safe nothing is shared, and everything works."""
        folder = Path(tempfile.gettempdir(), f"polyseme-weights-{os.getuid()}")
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
                return cls(None)
            for path in folder.iterdir():
                if time.time() - path.stat().st_mtime > _LEFT_OVER:
                    path.unlink(missing_ok=True)
        except OSError:
            return cls(None)
        return cls(folder)

    def share(self, source: VectorSource) -> None:
        """Map the weights of a source, and from now on the packed copies that the kernels make of weights."""
        set_keeper(self.shared)
        if isinstance(source, CombinedVectors):
            for part in source.parts:
                self.share(part.source)
        if isinstance(source, Embedder):
            for parameter in source.model.network.parameters():
                if parameter.device.type == "cpu":
                    parameter.data = self.shared(parameter.data)

    def shared(self, tensor: Tensor) -> Tensor:
        """The same numbers in a mapped file; the tensor itself if it is small or cannot be stored."""
        size = tensor.numel() * tensor.element_size()
        if self._folder is None or size < _SMALLEST or not tensor.is_contiguous():
            return tensor
        content = tensor.detach().reshape(-1).view(torch.uint8).numpy().data
        path = self._folder / f"{hashlib.blake2b(content, digest_size=16).hexdigest()}.bin"
        try:
            if not path.is_file() or path.stat().st_size != size:
                with whole_file(path) as temporary:
                    temporary.write_bytes(content)
            os.utime(path)
            # Not "shared": a write by mistake would stay in this process.
            mapped = torch.from_file(str(path), shared=False, size=tensor.numel(), dtype=tensor.dtype)
        except (OSError, RuntimeError):
            return tensor
        self._used.add(path)
        return mapped.view(tensor.shape)

    def close(self) -> None:
        """Delete the files that were used; what is mapped stays in memory until its process ends."""
        set_keeper(None)
        for path in self._used:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
