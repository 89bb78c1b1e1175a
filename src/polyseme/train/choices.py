"""The choices for training that the command line needs before heavy modules are imported."""

from typing import Literal

Preset = Literal["tiny", "small", "medium", "original"]
"""The name of a set of sizes and settings to start from."""

SoftmaxKind = Literal["full", "sampled", "adaptive"]
"""How words are predicted while training."""
