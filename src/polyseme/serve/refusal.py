"""Why a request gets no answer: a status and one line, always in the same JSON shape."""

import json
from collections.abc import Mapping

from polyseme.errors import FormatError, InputError, MissingPart, OutputError, PolysemeError
from polyseme.files.whole import JSON

_TYPES = {401: "authentication_error", 404: "not_found_error", 408: "timeout_error", 429: "rate_limit_error"}


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """An answer other than the one that was asked for.

    Args:
        status: The HTTP status.
        code: One word for programs.
        message: One line for people.
        headers: To send with it.
    """

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, " ".join(message.split())
        self.headers = dict(headers or {})

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it, in the shape of OpenAI's errors."""
        kind = _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "code": self.code, "param": None}}

    def body(self) -> bytes:
        """As it is sent."""
        return json.dumps(self.to_dict(), ensure_ascii=False).encode("utf-8", "replace")


def refusal_of(error: PolysemeError | OSError | MemoryError) -> Refusal:
    """The answer to a request whose computation raised an error that has a name."""
    match error:
        case InputError():
            return Refusal(422, "invalid_input", str(error))
        case MissingPart():
            return Refusal(409, "missing_part", str(error))
        case FormatError() | OutputError() | OSError():
            # Paths and reasons are for the one who runs the server.
            return Refusal(503, "storage", "a file of the server cannot be used now; its log says which")
        case MemoryError():
            return Refusal(503, "memory", "not enough memory for this now; send less at a time, or later")
        case _:
            return Refusal(422, "invalid_input", str(error))
