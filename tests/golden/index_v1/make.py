"""How the index beside this file was made, by version 0.1.0 of polyseme (the layout of an index is version 1).

Run with that version: python tests/golden/index_v1/make.py
"""

import sys
from pathlib import Path

from polyseme.embed.embedder import Embedder
from polyseme.index.occurrence_index import OccurrenceIndex

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

SENTENCES = [["The", "river", "bank"], ["She", "works", "at", "a", "bank"], ["漢字", "and", "😀"]]

if __name__ == "__main__":
    from tiny import tiny_model

    embedder = Embedder(tiny_model())
    OccurrenceIndex.build(embedder, SENTENCES, HERE / "index")
    OccurrenceIndex.build(embedder, [["A", "play"]], HERE / "index", append=True)
