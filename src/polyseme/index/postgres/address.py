"""Which database, and which schema in it, does an address mean?"""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from polyseme.errors import InputError

SCHEMA = "polyseme"
"""Where an index is if its address does not say."""
_SECRET = ("password", "sslpassword")


@dataclass(frozen=True)
class Address:
    """The address of an index.

    Attributes:
        server: What psycopg connects to.
        schema: The schema that the index is in.
        name: The address without a password, for messages.
        password: The one in the address, if there is one, so that no message shows it.
    """

    server: str = field(repr=False)
    schema: str
    name: str
    password: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME``, of which every part may be missing.

        Raises:
            InputError: It is no such address.

        Example:
            >>> Address.parse("postgresql://me:secret@db/words?schema=news").name
            'postgresql://me@db/words?schema=news'
        """
        try:
            parts = urlsplit(text)
            settings = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError as error:
            raise InputError(f"the address of the database cannot be read ({error}); {_EXPECTED}") from None
        user, at, host = parts.netloc.rpartition("@")
        shown = [(key, value) for key, value in settings if key not in _SECRET]
        address = parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query=_joined(shown), fragment="")
        name = address.geturl() if parts.netloc else address.geturl().replace(":/", ":///", 1)
        schemas = [value for key, value in settings if key == "schema"] or [SCHEMA]
        if len(schemas) > 1 or not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", schemas[0]):
            raise InputError(
                f"{name}: schema is {', '.join(map(repr, schemas))}, expected one name of small letters, digits and _"
            )
        others = _joined([(key, value) for key, value in settings if key != "schema"])
        server = f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{others}" if others else "")
        return cls(server, schemas[0], name, dict(settings).get("password") or unquote(user.partition(":")[2]))


_EXPECTED = "expected postgresql://USER@HOST/DATABASE?schema=NAME"


def _joined(settings: list[tuple[str, str]]) -> str:
    return urlencode(settings, quote_via=quote)
