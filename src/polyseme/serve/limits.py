"""How much one request, and all of them together, may ask of the server."""

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """What is refused, with which status; each field is an option of ``polyseme serve``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_mib: float = Field(default=8.0, gt=0, description="Size of a request in MiB; a larger one gets 413.")
    tokens: int = Field(default=16_384, ge=1, description="Tokens in a request; more get 413.")
    answer_mib: float = Field(
        default=64.0, gt=0, description="Size of the vectors in an answer in MiB; larger ones get 413."
    )
    queue: int = Field(default=256, ge=1, description="Requests that wait to be computed; those beyond get 429.")
    timeout: float = Field(
        default=30.0, gt=0, description="Seconds for a request to arrive (else 408) and to be answered (else 504)."
    )
    batch_tokens: int = Field(default=8192, ge=1, description="Tokens that are computed together.")
    wait_ms: float = Field(
        default=2.0,
        ge=0,
        description="Milliseconds without another request after which a batch is computed; at most 8 times.",
    )

    @property
    def body_bytes(self) -> int:
        """The largest body."""
        return int(self.body_mib * (1 << 20))

    @property
    def answer_numbers(self) -> int:
        """The most float32 numbers in an answer."""
        return int(self.answer_mib * (1 << 18))
