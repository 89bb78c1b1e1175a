"""State that an encoder carries from batch to batch, as the original implementations did."""

import torch

from polyseme.models.encoders import EncoderState


class CarriedState:
    """Remembers the state of each *row* of a batch and hands it to the same row of the next one.

    The rows of two batches are unrelated unless the caller arranges otherwise, so the same text gets different vectors
    each time. This serves to reproduce published numbers and to read text that continues from batch to batch. Batches
    may grow and shrink: a row that is not used keeps its state, a new row starts from zero.
    """

    def __init__(self) -> None:
        self._state: EncoderState | None = None

    def before(self, rows: int) -> EncoderState | None:
        """The state with which a batch of this many rows begins."""
        if self._state is None:
            return None
        self._grow(rows)
        return EncoderState(tuple(part[:, :rows].clone() for part in self._state.parts))

    def after(self, final: EncoderState) -> None:
        """Remember the state in which a batch ended."""
        rows = final.parts[0].shape[1]
        kept = final if self._state is None else self._state  # of the rows beyond this batch's
        # New tensors each time: those made under inference_mode cannot be written to outside of it.
        self._state = EncoderState(
            tuple(
                torch.cat([new.detach(), old[:, rows:].detach()], dim=1)
                for old, new in zip(kept.parts, final.parts, strict=True)
            )
        )

    def forget(self) -> None:
        """Start from zero again."""
        self._state = None

    def _grow(self, rows: int) -> None:
        assert self._state is not None
        missing = rows - self._state.parts[0].shape[1]
        if missing > 0:
            self._state = EncoderState(
                tuple(
                    torch.cat([part, part.new_zeros(part.shape[0], missing, part.shape[2])], dim=1)
                    for part in self._state.parts
                )
            )
