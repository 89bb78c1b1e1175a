"""The choices for networks, importable without torch."""

from typing import Literal, get_args

Precision = Literal["float32", "bfloat16", "int8"]
"""What LSTMs compute in; bfloat16 and int8 are close to float32, and faster if the processor supports them."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

Activation = Literal["relu", "tanh"]
"""The activation after the convolutions over characters."""
