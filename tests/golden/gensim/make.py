"""Writes five words with gensim 4.4.0, as word2vec text and binary, and keeps what gensim says of them.

pip install gensim==4.4.0
python tests/golden/gensim/make.py
"""

import json
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

HERE = Path(__file__).parent
WORDS = ["the", "Rome", "曹操", "naïve", "</s>"]

peer = KeyedVectors(4)
peer.add_vectors(WORDS, np.random.RandomState(7).standard_normal((len(WORDS), 4)).astype(np.float32))
peer.save_word2vec_format(HERE / "vectors.txt", binary=False)
peer.save_word2vec_format(HERE / "vectors.bin", binary=True)

again = KeyedVectors.load_word2vec_format(HERE / "vectors.txt", binary=False)
expected = {
    "words": again.index_to_key,
    "vectors": again.vectors.tolist(),
    "nearest": {word: again.most_similar(word, topn=4) for word in WORDS},
}
(HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
