"""Reads TensorFlow checkpoints (format V2, "tensor bundles") without TensorFlow.

``model.ckpt-5.index`` is a sorted table from the names of the variables to their types, shapes and positions; their
bytes are in ``model.ckpt-5.data-00000-of-00001``, or in several such files.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from polyseme.errors import FormatError
from polyseme.formats.bundle_tensor import BundleTensor, Shard, find_tensor
from polyseme.formats.protobuf import Message, damaged
from polyseme.formats.sstable import read_table

__all__ = ["BundleTensor", "TensorBundle", "latest_prefix"]


class TensorBundle(Mapping[str, BundleTensor]):
    """The tensors of a checkpoint by name, to be used in a ``with`` statement or closed.

    Args:
        open_file: Opens a file of the checkpoint by its name, to be read as bytes with ``seek``; once for each.
        prefix: The common prefix of the names of the files, such as ``model.ckpt-935588``.

    Raises:
        FormatError: A file is missing, damaged or not part of a checkpoint.

    Example:
        >>> with TensorBundle(lambda name: open(name, "rb"), "model.ckpt-935588") as bundle:
        ...     bundle["lm/char_embed"].read().shape
        (261, 4)
    """

    def __init__(self, open_file: Callable[[str], BinaryIO], prefix: str) -> None:
        index = f"{prefix}.index"
        with _open(open_file, index) as file:
            table = read_table(file.read(), index)
        if b"" not in table:
            raise damaged(index, "it has no header")
        header = Message(table.pop(b""), f"{index}, header")
        if header.count(2):
            raise FormatError(f"{index}: the checkpoint was written on a big-endian machine, which is not supported")
        shards: list[Shard] = []
        with ExitStack() as stack:
            for number in range(header.count(1)):
                shard = f"{prefix}.data-{number:05d}-of-{header.count(1):05d}"
                file = stack.enter_context(_open(open_file, shard))
                shards.append(Shard(shard, file, file.seek(0, io.SEEK_END)))
            # Keys that start with a zero byte are parts, which the entry of their tensor lists.
            keys = [key for key in table if not key.startswith(b"\0")]
            tensors = [find_tensor(key, table, shards, index) for key in keys]
            self._files = stack.pop_all()
        self._tensors = {tensor.name: tensor for tensor in tensors}

    def __getitem__(self, name: str) -> BundleTensor:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __enter__(self) -> "TensorBundle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the data files; after this, tensors cannot be read."""
        self._files.close()


def latest_prefix(names: Sequence[str], checkpoint_text: str | None) -> str:
    """Return the prefix of the checkpoint to read: what the ``checkpoint`` file names, else the highest step.

    Args:
        names: The files that are there, with or without folders.
        checkpoint_text: The content of the ``checkpoint`` file, if there is one. The path in it is often one on its
            author's machine, so only the file's name is used.

    Raises:
        FormatError: There is no checkpoint, or it is unclear which of several is the latest.
    """
    prefixes = sorted({name.removesuffix(".index") for name in names if name.endswith(".index")})
    if not prefixes:
        found = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "") or "no files"
        raise FormatError(f"no TensorFlow checkpoint: expected a file that ends in .index, found {found}")
    named = re.search(r'^[ \t]*model_checkpoint_path:[ \t]*"(.*)"', checkpoint_text or "", re.MULTILINE)
    wanted = re.split(r"[/\\]", named[1])[-1] if named else None
    best = [prefix for prefix in prefixes if prefix.split("/")[-1] == wanted]
    if not best:
        steps = [int(step[1]) if (step := re.search(r"-([0-9]{1,18})$", prefix)) else -1 for prefix in prefixes]
        best = [prefix for prefix, step in zip(prefixes, steps, strict=True) if step == max(steps)]
    if len(best) > 1:
        raise FormatError(f"it is unclear which checkpoint is the latest: {', '.join(best)}; name the one to read")
    return best[0]


def _open(open_file: Callable[[str], BinaryIO], name: str) -> BinaryIO:
    try:
        return open_file(name)
    except (OSError, KeyError) as error:  # archives raise KeyError
        raise FormatError(f"{name}: this file of the checkpoint is missing or cannot be opened ({error})") from error
