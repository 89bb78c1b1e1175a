"""Takes what TensorFlow computed out of AllenNLP 0.9.0's wheel (Apache-2.0), as much of it as stays small.

Run `python tests/golden/allennlp_fixture/make.py allennlp-0.9.0-py3-none-any.whl`.
"""

import io
import json
import lzma
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np

HERE = Path(__file__).parent
FIXTURES = "allennlp/tests/fixtures/elmo/"
N_BATCHES, N_ROWS, N_WORDS = 2, 3, 60
# Float32 weights: four-byte alignment and no literal context, which saves a tenth. `lzma.open` reads it as any .xz.
XZ = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 2, "pb": 2}]


def main(wheel: zipfile.ZipFile) -> None:
    """Write options, weights, sentences, words and the arrays expected of them."""

    def read(name: str) -> bytes:
        return wheel.read(FIXTURES + name)

    def hdf5(name: str) -> h5py.File:
        return h5py.File(io.BytesIO(read(name)))

    (HERE / "options.json").write_bytes(read("options.json"))
    (HERE / "weights.hdf5.xz").write_bytes(lzma.compress(read("lm_weights.hdf5"), filters=XZ))

    rows = json.loads(read("sentences.json"))  # the k-th file and the k-th list are row k of every batch
    batches = [[rows[row][i].split() for row in range(N_ROWS)] for i in range(N_BATCHES)]
    expected = {}
    for i, batch in enumerate(batches):
        top = np.zeros((N_ROWS, max(map(len, batch)), 32), np.float32)  # (B, T, D)
        for row, sentence in enumerate(batch):
            forward, backward = hdf5(f"lm_embeddings_{row}.hdf5")[str(i)][...]
            top[row, : len(sentence)] = np.concatenate([forward, backward], axis=-1)
        expected[f"batch{i}/top"] = top
    words = read("vocab_test.txt").decode().split()[:N_WORDS]
    expected["words/vectors"] = hdf5("elmo_token_embeddings.hdf5")["embedding"][:N_WORDS]
    for name, value in (("sentences.json", batches), ("words.json", words)):
        (HERE / name).write_text(json.dumps(value) + "\n", encoding="utf-8")
    np.savez_compressed(HERE / "expected.npz", allow_pickle=False, **expected)


if __name__ == "__main__":
    main(zipfile.ZipFile(sys.argv[1]))
