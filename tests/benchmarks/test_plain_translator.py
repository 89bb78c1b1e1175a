"""The straightforward translator of the benchmark computes what polyseme's does, with torch's own layers."""

import numpy as np
import torch
from tiny_translator import tiny_translator
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from benchmarks.plain_translator import PADDING, PlainTranslator
from polyseme.models.translation import BEGIN, END, source_vectors
from polyseme.train.translate.batches import read_batch
from polyseme.train.translate.objective import Objective
from polyseme.train.translate.pair_store import Pairs
from polyseme.train.translate.settings import TranslateSettings

SOURCES, TARGETS = [[0, 1, 2], [3], [-1, 4, 5, 6]], [[4, 5], [6, 7, 8, 9], [10, 3]]


def _gates(weight: Tensor) -> Tensor:
    """Rows in torch's order: the candidate before the output."""
    entry, forget, output, candidate = weight.chunk(4)
    return torch.cat([entry, forget, candidate, output])


def test_both_have_the_same_loss() -> None:
    model = tiny_translator()
    ours = model.network.double()
    sizes = {"encoder_dim": 4, "decoder_dim": 6, "dropout": 0.0}
    plain = PlainTranslator(TranslateSettings.model_validate(sizes), 5, len(model.vocabulary)).double()
    decoder = ours.decoder
    with torch.no_grad():
        plain.encoder.load_state_dict(ours.encoder.state_dict())
        plain.cell.weight_ih.copy_(_gates(torch.cat([decoder.weight_ih, decoder.weight_fh], dim=1)))
        plain.cell.weight_hh.copy_(_gates(decoder.weight_hh))
        plain.cell.bias_ih.copy_(_gates(decoder.bias))
        plain.cell.bias_hh.zero_()
        for name in ("start", "query", "mix"):
            plain.get_submodule(name).load_state_dict(decoder.get_submodule(name).state_dict())
        plain.softmax.load_state_dict(ours.softmax.state_dict())
    table = torch.from_numpy(model.table.matrix).double()
    sources = [torch.tensor(ids) for ids in SOURCES]
    vectors = pad_sequence([source_vectors(table, ids) for ids in sources], batch_first=True)
    before = pad_sequence([torch.tensor([BEGIN, *ids]) for ids in TARGETS], batch_first=True)
    target = pad_sequence([torch.tensor([*ids, END]) for ids in TARGETS], batch_first=True, padding_value=PADDING)
    mean = plain(vectors, torch.tensor([len(ids) for ids in SOURCES]), before, target)

    flat = [np.concatenate(side).astype(np.int32) for side in (SOURCES, TARGETS)]
    starts = [np.cumsum([0, *map(len, side)]) for side in (SOURCES, TARGETS)]
    batch = read_batch(Pairs(flat[0], starts[0], flat[1], starts[1]), np.arange(3), torch.device("cpu"))
    found = Objective(ours, table)(batch, None)
    assert found.predictions == 11
    torch.testing.assert_close(found.total / 11, mean.double(), rtol=1e-6, atol=0)  # its logits are float32
    found.total.backward()
    (mean * 11).backward()
    for one, two in ((ours.softmax.weight, plain.softmax.weight), (decoder.query.weight, plain.query.weight)):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-4, atol=1e-6)
