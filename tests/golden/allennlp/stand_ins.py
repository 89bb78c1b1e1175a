"""Puts empty modules where AllenNLP's import chain names packages that ELMo never uses."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def _module(name: str, **members: Any) -> None:
    module = ModuleType(name)
    module.__path__ = []  # a package, so that its submodules can be imported too
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(members)
    sys.modules[name] = module


def _path_as_is(path: Any, **_: Any) -> Any:
    return path


def install() -> None:
    """Stand in for `cached_path`, which here hands every path back as it is, and for `torchvision`."""
    unused = dict.fromkeys(
        ("resource_to_filename", "check_tarfile", "is_url_or_existing_file", "find_latest_cached", "filename_to_url")
    )
    _module("cached_path", cached_path=_path_as_is, **unused)
    _module("cached_path.cache_file", CacheFile=object)
    _module("cached_path.common", PathOrStr=str)
    _module("cached_path.file_lock", FileLock=object)
    _module("cached_path.meta", Meta=object)
    _module("torchvision")
    _module("torchvision.ops")
    _module("torchvision.ops.boxes")
