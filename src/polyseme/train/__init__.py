"""Training: text in, a model folder out.

The package is what ``polyseme.train`` names, and calling it trains: see `polyseme.train.lm.run.train`.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that can be called: ``polyseme.train(...)`` as well as ``polyseme.train.lm.settings``."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from polyseme.train.lm.run import train

        return train(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
