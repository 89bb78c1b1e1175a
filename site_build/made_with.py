"""Which bundled models the documentation was made with.

python -m site_build.made_with  # records those of this tree
"""

import json

from site_build.links import ROOT

RECORD = ROOT / "docs/made-with.json"


def models_now() -> dict[str, str]:
    """The fingerprint of each bundled model."""
    import polyseme
    from polyseme.formats.detect import bundled_names

    return {name: polyseme.load(name).fingerprint() for name in sorted(bundled_names())}


def is_current() -> bool:
    """Whether the documentation was made with the bundled models of this tree; else its digits are not compared."""
    recorded: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    return recorded == models_now()


if __name__ == "__main__":
    RECORD.write_text(json.dumps(models_now(), indent=2) + "\n", encoding="utf-8")
