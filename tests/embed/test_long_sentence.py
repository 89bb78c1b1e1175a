"""Memory is bounded by a budget, not by the longest sentence."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
from polyseme import BiLM, Embedder
from polyseme.models.model import Model
from polyseme.models.config import BiLMConfig, LstmEncoderConfig
from polyseme.text.characters import ByteCharacters
from tiny import tiny_config

# As wide as the original (D = 1024), with few cells so that 400,000 steps are quick.
config = tiny_config().model_copy(
    update={"projection_dim": 512, "encoder": LstmEncoderConfig(layers=2, hidden_dim=8)}
)
model = Model(config, BiLM.from_config(config).eval(), ByteCharacters())
tokens = [f"word{number % 5000}" for number in range(100_000)]
vectors = Embedder(model).embed([tokens])[0]
assert vectors.shape == (3, 100_000, 1024), vectors.shape
assert abs(vectors[:, -1]).sum() > 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_sentence_of_100_000_tokens_embeds_within_4_gib(request: pytest.FixtureRequest) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(request.config.rootpath / "tests")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 4096 - 400, "leave room for the 375 MB of the original size's weights"
