"""What an index was made with, whatever it is stored in: its vectors depend on this, and so do its queries."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from polyseme.errors import InputError
from polyseme.index.choices import Compression
from polyseme.nn.choices import Precision
from polyseme.text.choices import Tokenizer

_Positive: TypeAlias = Annotated[int, Field(strict=True, ge=1, lt=1 << 31)]
_Layer: TypeAlias = Annotated[int, Field(strict=True, ge=0)]


class About(BaseModel):
    """What an index was made with."""

    model_config = ConfigDict(frozen=True)

    model: str
    """The fingerprint of the model."""
    precision: Precision
    layers: Literal["mean", "top"] | _Layer
    compression: Compression
    tokenize: Tokenizer | None
    dictionary: list[str] | None = None
    """The words that the tokeniser kept whole."""
    model_path: str | tuple[str, str]
    """Where the model was; empty if it was not opened from a file."""
    dim: _Positive

    def check_alike(self, name: str, new: "About") -> None:
        """Refuse to add to an index what is made otherwise.

        Args:
            name: The index, as messages name it.
            new: What the text to be added is made with.
        """
        for field in ("model", "precision", "layers", "compression", "tokenize", "dictionary"):
            if (before := getattr(self, field)) != (after := getattr(new, field)):
                what = f"{field} {before!r}, not {after!r}" if field != "dictionary" else f"another {field}"
                raise InputError(f"{name}: was built with {what}; add to it with the same, or build another index")
