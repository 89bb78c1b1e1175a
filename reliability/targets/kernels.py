"""The compiled kernels, called with odd sizes, numbers of threads, NaN and infinity, under the sanitisers."""

import json
import random
from pathlib import Path

import torch
from torch import Tensor, nn

from polyseme.models.encoders import LstmEncoder
from polyseme.models.inference import InferenceLstm, InferenceTokenEncoder
from polyseme.models.token_encoders import CharacterTokenEncoder
from polyseme.nn.alternating_lstm import AlternatingLstm
from polyseme.nn.backend import available
from polyseme.nn.bilstm import BiLstm
from polyseme.nn.highway import Highway
from polyseme.nn.kernels.dense import PackedDense
from polyseme.nn.kernels.packed import PRECISIONS, Precision
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.recurrent import Lane, recurrent_layer
from polyseme.nn.kernels.rows import column_sums, highway_gate, highway_gradients
from polyseme.nn.kernels.softmax import full_pass, sampled_pass
from polyseme.nn.kernels.threads import set_threads
from polyseme.nn.packing import Packing
from reliability.target import Target

_SIZES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 47, 64, 65, 100, 127, 130, 257)
_ODD = (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-42, 0.0)


class _Draw:
    """Draws the arguments of a call."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed)
        torch.manual_seed(self._draw.randrange(1 << 40))
        self.odd = self._draw.random() < 0.5

    def size(self, largest: int = 257) -> int:
        return self._draw.choice([size for size in _SIZES if size <= largest])

    def chance(self, share: float = 0.5) -> bool:
        return self._draw.random() < share

    def one(self, *choices: object) -> object:
        return self._draw.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self._draw.randint(low, high)

    def precision(self, *, gradients: bool) -> Precision:
        made = [one for one in PRECISIONS if available(one) and not (gradients and one == "int8")]
        return self._draw.choice(made)

    def tensor(self, *shape: int) -> Tensor:
        """Random numbers, sometimes with odd ones among them, sometimes as a view of something larger."""
        if len(shape) == 2 and self.chance(0.2):
            return self.spoil(torch.randn(shape[1], shape[0]).t())
        return self.spoil(torch.randn(shape) * self._draw.choice((1.0, 1.0, 0.0, 1e4, 1e-6)))

    def spoil(self, tensor: Tensor) -> Tensor:
        """Put odd numbers into a tensor, if this call has odd numbers."""
        if self.odd and tensor.numel():
            for _ in range(self._draw.choice((1, 3, tensor.numel()))):
                place = tuple(self._draw.randrange(size) for size in tensor.shape)
                tensor.data[place] = self._draw.choice(_ODD)
        return tensor

    def spoil_weights(self, module: nn.Module) -> None:
        """Put odd numbers into the weights of a module, if this call has odd numbers."""
        for parameter in module.parameters():
            if self.chance(0.4):
                self.spoil(parameter.data)


def _words(draw: _Draw) -> None:
    """The character encoder, forwards and backwards."""
    characters = draw.number(2, 300)
    widths = sorted({draw.number(1, 7) for _ in range(draw.number(1, 4))})
    encoder = CharacterTokenEncoder(
        dim=draw.size(130),
        characters=characters,
        character_dim=draw.number(1, 16),
        filters=tuple((width, draw.size(130)) for width in widths),
        activation="relu" if draw.chance() else "tanh",
        padding_id=characters - 1,
        highway_layers=draw.number(0, 2),
    )
    draw.spoil_weights(encoder)
    ids = torch.randint(0, characters, (draw.number(0, 70), draw.number(max(widths), 50)))
    if draw.chance():
        ids = ids.to(torch.int32)
    encoder(ids).sum().backward()
    InferenceTokenEncoder(encoder.eval().requires_grad_(False), draw.precision(gradients=False))(ids)


def _lstm(draw: _Draw) -> None:
    """The layers of an LSTM, forwards and backwards."""
    projection, clip = draw.size(130), draw.one(None, 0.5, 3.0)
    encoder = LstmEncoder(
        layers=draw.number(1, 2),
        hidden_dim=draw.size(130),
        projection_dim=projection,
        cell_clip=clip,  # type: ignore[arg-type]
        projection_clip=clip,  # type: ignore[arg-type]
        skip_connections=draw.chance(),
        forget_bias=1.0,
    )
    draw.spoil_weights(encoder)
    lengths = [draw.number(1, 12) for _ in range(draw.number(1, 20))]
    packing, tokens = Packing.of(lengths), draw.tensor(sum(lengths), projection)
    if draw.chance():
        tokens = tokens.requires_grad_()
        layers, _ = encoder(tokens, packing, None)
        sum(layer.sum() for layer in layers).backward()
    else:
        InferenceLstm(encoder.eval().requires_grad_(False), draw.precision(gradients=False))(tokens, packing, None)


def _recurrent(draw: _Draw) -> None:
    """A layer without projection, plain or with a highway, in one direction or two, forwards and backwards."""
    inputs, hidden, highway = draw.size(130), draw.size(130), draw.chance()
    lengths = [draw.number(1, 12) for _ in range(draw.number(1, 20))]
    packing, gates = Packing.of(lengths), 5 if highway else 4
    lanes = [
        Lane(
            draw.tensor((gates + highway) * hidden, inputs).requires_grad_(),
            draw.tensor(gates * hidden, hidden).requires_grad_(),
            draw.tensor(gates * hidden).requires_grad_(),
            places=packing.reverse if number else None,
            mask=draw.tensor(len(lengths), hidden) if draw.chance(0.3) else None,
        )
        for number in range(draw.number(1, 2))
    ]
    tokens = draw.tensor(sum(lengths), inputs).requires_grad_(draw.chance())
    outputs, cells = recurrent_layer(tokens, lanes, packing.batch_sizes, draw.precision(gradients=True))
    if draw.chance(0.7):
        (outputs.sum() + cells.sum()).backward()


def _modules(draw: _Draw) -> None:
    """The networks that are made of such layers."""
    width, hidden, layers = draw.size(65), draw.size(65), draw.number(1, 3)
    lengths = [draw.number(1, 9) for _ in range(draw.number(1, 20))]
    packing, tokens = Packing.of(lengths), draw.tensor(sum(lengths), width)
    lstm: nn.Module
    if draw.chance():
        lstm = BiLstm(input_dim=width, hidden_dim=hidden, layers=layers)
    else:
        lstm = AlternatingLstm(input_dim=width, hidden_dim=hidden, layers=layers)
    draw.spoil_weights(lstm)
    torch.cat([*lstm(tokens, packing)]).sum().backward()


def _dense(draw: _Draw) -> None:
    width = draw.size()
    layer = Highway(width) if draw.chance() else nn.Linear(width, draw.size())
    draw.spoil_weights(layer)
    PackedDense(layer.requires_grad_(False), draw.precision(gradients=False))(draw.tensor(draw.number(0, 90), width))


def _product(draw: _Draw) -> None:
    rows, depth, columns = draw.number(0, 130), draw.size(), draw.size()
    one, two, bias = draw.tensor(rows, depth), draw.tensor(depth, columns), draw.tensor(columns)
    product(one, two, draw.precision(gradients=True), bias=bias if draw.chance() else None)
    column_sums(one)


def _gate(draw: _Draw) -> None:
    rows, width = draw.number(0, 60), draw.size()
    inputs, products = draw.tensor(rows, width).contiguous(), draw.tensor(rows, 2 * width).contiguous()
    highway_gate(inputs, products)
    highway_gradients(inputs, products, draw.tensor(rows, width))


def _softmax(draw: _Draw) -> None:
    rows, width, words = draw.number(1, 80), draw.size(65), draw.size()
    states, weight, bias = draw.tensor(rows, width), draw.tensor(words, width), draw.tensor(words)
    targets, precision, chunk = torch.randint(0, words, (rows,)), draw.precision(gradients=True), draw.size()
    if draw.chance():
        full_pass(states, weight, bias, targets, precision=precision, chunk=chunk)
        return
    samples = draw.number(1, words)
    negative, hit = torch.randint(0, words, (samples,)), torch.randint(-1, samples, (rows,))
    sampled_pass(states, weight, bias, targets, negative, hit, precision, chunk)


CALLS = (_words, _words, _lstm, _lstm, _recurrent, _recurrent, _modules, _dense, _product, _gate, _softmax)


def random_call(seed: str) -> str:
    """Call one kernel with arguments drawn from a seed; gives which one."""
    draw = _Draw(seed)
    set_threads(draw.number(1, 4))
    call = CALLS[draw.number(0, len(CALLS) - 1)]
    call(draw)
    return call.__name__


def _make(folder: Path) -> None:
    (folder / "call.json").write_text('"0"')


def _damage(folder: Path, draw: random.Random) -> None:
    (folder / "call.json").write_text(json.dumps(str(draw.randrange(1 << 60))))


def _call(folder: Path) -> None:
    random_call(json.loads((folder / "call.json").read_text()))


TARGETS = (Target("kernels, sanitised", _make, _call, _damage, server="sanitized"),)
