"""The choices that studies offer, apart from their code so that a command line can name them quickly."""

from typing import Literal, TypeAlias

ChangeSort: TypeAlias = Literal["apd", "prt", "excess"]
"""What changed words are ranked by; ``excess`` is APD minus what 95% of the shuffles do not exceed."""
