"""What is served, where, and to whom: the options of ``polyseme serve`` as one record."""

import ipaddress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from polyseme.errors import InputError
from polyseme.nn.choices import Precision
from polyseme.serve.limits import Limits
from polyseme.text.choices import TokenizerChoice

SHORTEST_TOKEN = 16


class Settings(BaseModel):
    """The options of a server; a worker process gets them as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | tuple[Path | str, Path | str]
    name: str | None = None
    index: str | Path | None = None
    task: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    precision: Precision = "float32"
    layers: str = "mean"
    tokenize: TokenizerChoice = "auto"
    dictionary: Path | None = None
    softmax: Path | None = None
    vocabulary: Path | None = None
    device: str = "cpu"
    threads: int | None = Field(default=None, ge=1)
    workers: int = Field(default=1, ge=1, le=256)
    token_file: Path | None = None
    insecure: bool = False
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = Limits()

    def check(self) -> None:
        """Refuse what cannot be served, before anything is opened.

        Raises:
            InputError: An address that others can reach, without a token.
        """
        if self.token_file is None and not self.insecure and not is_loopback(self.host):
            raise InputError(
                f"--host {self.host}: others could reach the server without a token; give --token-file, or --insecure "
                "if something else keeps them away"
            )
        if self.token_file is not None:
            read_token(self.token_file)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def read_token(path: Path) -> bytes:
    """The secret in a file, without the white space around it.

    Raises:
        InputError: The file cannot be read, or what it holds cannot be sent in a header or is easily guessed.
    """
    try:
        with path.open("rb") as file:
            token = file.read(1 << 16).strip()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); write the token into it") from error
    if len(token) < SHORTEST_TOKEN or not token.isascii() or len(token.split()) != 1:
        raise InputError(
            f"{path}: holds {len(token)} bytes, expected one word of at least {SHORTEST_TOKEN} ASCII characters; "
            "make one with: openssl rand -hex 32"
        )
    return token
