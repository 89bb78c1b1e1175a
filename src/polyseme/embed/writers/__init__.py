"""Files of embedded vectors: written whole or not at all, resumable, in memory that does not grow with the corpus.

::

    with open_writer("out.h5", settings={"model": "english-small", "layers": "all"}, resume=True) as writer:
        for sentence, vectors in islice(embedded, writer.done, None):
            writer.write(Record(sentence, vectors))

The suffix chooses the format; each is described in its own module: `npz`, `hdf5`, `parquet`. Until the file is whole,
it grows in `OUT.partial/`, beside `run.json` (see `polyseme.files.work_folder`) and records of what is safe (see
`work`).
"""

from polyseme.embed.writers.base import Record
from polyseme.embed.writers.opening import SUFFIXES, open_writer
from polyseme.embed.writers.writer import VectorWriter

__all__ = ["SUFFIXES", "Record", "VectorWriter", "open_writer"]
