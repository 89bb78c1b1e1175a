"""What AllenNLP's `Elmo` and `ScalarMix` compute."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from allennlp.modules.elmo import Elmo, batch_to_ids
from allennlp.modules.scalar_mix import ScalarMix

Arrays = dict[str, Any]
Batch = list[list[str]]

MIX_WEIGHTS, MIX_GAMMA = [0.5, -1.0, 1.5], 1.7
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "boundaries": {"keep_sentence_boundaries": True},
    "layer_norm": {"do_layer_norm": True},
    "layer_norm_boundaries": {"do_layer_norm": True, "keep_sentence_boundaries": True},
    "mix_given": {"scalar_mix_parameters": MIX_WEIGHTS},
}


def build(model: Path, *, outputs: int = 2, **options: Any) -> Elmo:
    """An `Elmo` without dropout, its second output with a mix of its own unless one was given for all."""
    elmo = Elmo(str(model / "options.json"), str(model / "weights.hdf5"), outputs, dropout=0.0, **options)
    if outputs == 2 and "scalar_mix_parameters" not in options:
        for parameter, value in zip(elmo.scalar_mix_1.scalar_parameters, MIX_WEIGHTS, strict=True):
            parameter.data.fill_(value)
        elmo.scalar_mix_1.gamma.data.fill_(MIX_GAMMA)
    return elmo


def run(elmo: Elmo, key: str, *inputs: torch.Tensor) -> Arrays:
    """The representations and the mask, from a fresh state."""
    elmo._elmo_lstm._elmo_lstm.reset_states()
    output = elmo(*inputs)
    representations = {f"{key}/representation{i}": array for i, array in enumerate(output["elmo_representations"])}
    return {**representations, f"{key}/mask": output["mask"]}


def cached(model: Path, batch: Batch) -> Arrays:
    """With `vocab_to_cache`: ids within the cache, then one past its end, which sends the batch to its characters."""
    words = ["@@PADDING@@", "@@UNKNOWN@@", *sorted({token for sentence in batch for token in sentence})]
    elmo = build(model, outputs=1, vocab_to_cache=words)
    word_ids = torch.zeros(len(batch), max(map(len, batch)), dtype=torch.long)  # (B, T), 0 is padding
    for row, sentence in enumerate(batch):
        word_ids[row, : len(sentence)] = torch.tensor([words.index(token) for token in sentence])
    with_unknown, past_the_end = word_ids.clone(), word_ids.clone()
    with_unknown[0, 1] = 1
    past_the_end[0, 1] = len(words)
    out: Arrays = {
        "elmo/cached/words": np.array(words),
        "elmo/cached/embedding": elmo._elmo_lstm._word_embedding.weight,
    }
    for name, ids in (("known", word_ids), ("unknown", with_unknown), ("past_the_end", past_the_end)):
        out |= {f"elmo/cached/{name}/word_ids": ids, **run(elmo, f"elmo/cached/{name}", batch_to_ids(batch), ids)}
    return out


def gradients(model: Path, batch: Batch) -> Arrays:
    """Gradients of the sum of squares of the first representation, named and laid out as in the HDF5 file."""
    elmo = build(model, outputs=1, requires_grad=True)
    loss = elmo(batch_to_ids(batch))["elmo_representations"][0].square().sum()
    loss.backward()
    encoder, lstm = elmo._elmo_lstm._token_embedder, elmo._elmo_lstm._elmo_lstm
    out: Arrays = {"loss": loss, "char_embed": encoder._char_embedding_weights.grad[1:]}  # row 0 is the mask's
    for i, convolution in enumerate(encoder._convolutions):
        out[f"CNN/W_cnn_{i}"] = convolution.weight.grad.permute(2, 1, 0)[None]
        out[f"CNN/b_cnn_{i}"] = convolution.bias.grad
    for i, highway in enumerate(encoder._highways._layers):
        transform, carry = highway.weight.grad.chunk(2)
        out |= {f"CNN_high_{i}/W_transform": transform.T, f"CNN_high_{i}/W_carry": -carry.T}
        transform, carry = highway.bias.grad.chunk(2)
        out |= {f"CNN_high_{i}/b_transform": transform, f"CNN_high_{i}/b_carry": -carry}
    out |= {"CNN_proj/W_proj": encoder._projection.weight.grad.T, "CNN_proj/b_proj": encoder._projection.bias.grad}
    for direction, cells in enumerate((lstm.forward_layers, lstm.backward_layers)):
        for layer, cell in enumerate(cells):
            name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            joined = torch.cat([cell.input_linearity.weight.grad, cell.state_linearity.weight.grad], dim=1)
            out[f"{name}/W_0"] = file_order(joined).T
            out[f"{name}/B"] = file_order(cell.state_linearity.bias.grad)
            out[f"{name}/W_P_0"] = cell.state_projection.weight.grad.T
    mix = elmo.scalar_mix_0
    out |= {"mix/weights": torch.cat([w.grad for w in mix.scalar_parameters]), "mix/gamma": mix.gamma.grad}
    return {f"gradient/{name}": value for name, value in out.items()}


def file_order(gates: torch.Tensor) -> torch.Tensor:
    """Gates (4d, ...) from AllenNLP's order (input, forget, candidate, output) to the file's."""
    first, forget, candidate, output = gates.chunk(4)
    return torch.cat([first, candidate, forget, output])


def scalar_mix() -> Arrays:
    """`ScalarMix` alone, on random tensors with values at the masked places too."""
    generator = torch.Generator().manual_seed(3)
    tensors = torch.randn(3, 2, 5, 4, generator=generator) * 2 + 0.5  # (tensors, B, T, D)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    out: Arrays = {
        "inputs": tensors,
        "mask": mask,
        "weights": np.array(MIX_WEIGHTS, dtype=np.float32),
        "gamma": np.float32(MIX_GAMMA),
    }
    for name, layer_norm in (("plain", False), ("layer_norm", True)):
        mix = ScalarMix(3, do_layer_norm=layer_norm, initial_scalar_parameters=MIX_WEIGHTS)
        mix.gamma.data.fill_(MIX_GAMMA)
        out[name] = mix(list(tensors), mask)
    return {f"scalar_mix/{name}": value for name, value in out.items()}


def arrays(model: Path, batches: list[Batch]) -> Arrays:
    """Everything about `Elmo` itself, on the first and the third batch."""
    out: Arrays = {
        "elmo/mix1/weights": np.array(MIX_WEIGHTS, dtype=np.float32),
        "elmo/mix1/gamma": np.float32(MIX_GAMMA),
    }
    for case, options in CASES.items():
        elmo = build(model, **options)
        for i in (0, 2):
            out |= run(elmo, f"elmo/{case}/batch{i}", batch_to_ids(batches[i]))
    elmo = build(model)
    with_empty = batch_to_ids([batches[0][0], [], batches[0][1]])
    out |= {"elmo/empty_row/ids": with_empty, **run(elmo, "elmo/empty_row", with_empty)}
    kept = build(model, outputs=1, keep_sentence_boundaries=True)
    out |= run(kept, "elmo/empty_row_boundaries", with_empty)
    four = batch_to_ids(batches[0][:4]).unflatten(0, (2, 2))  # (2, 2, T, 50)
    out |= {"elmo/four_dims/ids": four, **run(elmo, "elmo/four_dims", four)}
    return {**out, **cached(model, batches[0]), **gradients(model, batches[0])}
