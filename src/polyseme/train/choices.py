"""The choices about training that the command line needs before anything heavy is imported."""

from typing import Literal

Preset = Literal["tiny", "small", "medium", "original"]
"""Sizes and settings to begin from."""
