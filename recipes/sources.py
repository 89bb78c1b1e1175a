"""The pinned sources of a recipe, as its ``sources.toml`` lists them."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from polyseme.errors import FormatError, InputError
from polyseme.text.choices import Tokenizer

ROOT = Path(__file__).parent
Registry = Literal["pypi", "npm", "debian"]
Kind = Literal[
    "conversation",
    "reviews and opinion",
    "news",
    "fiction",
    "encyclopedia",
    "manuals",
    "law and parliament",
    "science",
    "dictionary",
    "speeches and essays",
    "religion",
    "classical",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Text inside one file of one version of one package."""

    name: str
    registry: Registry
    package: str
    version: str
    file: str
    """The name of the archive in the registry."""
    sha256: str
    members: tuple[str, ...]
    """Shell patterns of the paths to read inside the archive."""
    leave_out: tuple[str, ...] = ()
    """Shell patterns of paths to leave out of those."""
    reader: str
    """A name in `recipes.readers.READERS`."""
    licence: str
    what: str
    kind: Kind | None = None
    """What sort of text it is; every source that is trained on has one."""
    cap: int | None = None
    """At most this many tokens are kept, in blocks drawn from the whole source. With 0, nothing is trained on."""
    times: int = 1
    """How often its text stands in the training text, so that it is read more often than the others."""
    needs: str | None = None
    """The name of a table (an entry of ``[[table]]``) that the reader is given before the source's own files."""
    optional: bool = False
    """Continue without it if the registry does not keep this version (Debian replaces versions by security fixes)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The sources of a training text."""

    name: str
    tokenizer: Tokenizer
    sources: tuple[Source, ...]
    evaluation: tuple[Source, ...] = ()
    """Text that the model is measured on; no sentence of it is used for training."""
    tables: tuple[Source, ...] = ()
    """Tables that readers need, such as one of characters."""
    vectors: Source | None = None
    """Static word vectors that the training starts from."""

    @property
    def work(self) -> Path:
        """The folder of everything that this recipe makes."""
        return ROOT / self.name / "work"


def recipe_names() -> list[str]:
    """The names of all recipes."""
    return sorted(path.parent.name for path in ROOT.glob("*/sources.toml"))


def load_recipe(name: str) -> Recipe:
    """Read ``recipes/<name>/sources.toml``.

    Raises:
        InputError: There is no such recipe.
        FormatError: An entry lacks a field, or has an unknown one.
    """
    if name not in recipe_names():
        raise InputError(f"no recipe {name!r}; choose one of {', '.join(recipe_names())}")
    path = ROOT / name / "sources.toml"
    content = tomllib.loads(path.read_text("utf-8"))
    sources, evaluation, tables = (
        tuple(_source(entry, path.name) for entry in content.get(part, ()))
        for part in ("source", "evaluation", "table")
    )
    vectors = _source(content["vectors"], path.name) if "vectors" in content else None
    return Recipe(name, content["tokenizer"], sources, evaluation, tables, vectors)


def _source(entry: dict[str, object], where: str) -> Source:
    known = {field.name for field in fields(Source)}
    needed = known - {"leave_out", "kind", "cap", "times", "needs", "optional"}
    name = entry.get("name", "a source without a name")
    if wrong := sorted((needed - entry.keys()) | (entry.keys() - known)):
        raise FormatError(f"{where}: {name}: missing or unknown fields: {', '.join(wrong)}; correct the entry")
    if entry["registry"] not in get_args(Registry):
        choices = ", ".join(get_args(Registry))
        raise FormatError(f"{where}: {name}: registry {entry['registry']!r}; choose one of {choices}")
    if entry.get("kind", "news") not in get_args(Kind):
        raise FormatError(f"{where}: {name}: kind {entry['kind']!r}; choose one of {', '.join(get_args(Kind))}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Source(**values)  # type: ignore[arg-type]
