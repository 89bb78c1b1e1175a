"""The graph of a biLM in ONNX: ids of words in, layers out.

Shapes: B sentences, T tokens of the longest, T' = T + 2 with the sentence markers, W ids per word, P width of a
direction, D = 2P, H cells, L layers.
"""

import math
from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from polyseme.models.bilm import BiLM
from polyseme.models.encoders import LstmEncoder
from polyseme.models.token_encoders import CharacterTokenEncoder, TokenEncoder, WordTokenEncoder
from polyseme.nn.char_cnn import CharacterCnn
from polyseme.nn.projected_lstm import ProjectedLstm
from polyseme.text.characters import Ids

OPSET = 17
IR_VERSION = 8


class Graph:
    """Nodes and weights of a graph that is being made; every method returns the name of what it adds.

    Args:
        prefix: Begins all names; a graph inside another must have names of its own.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._names = 0

    def name(self, kind: str) -> str:
        """A new name."""
        self._names += 1
        return f"{self._prefix}{kind}_{self._names}"

    def constant(self, values: NDArray[np.generic] | Sequence[int] | Tensor) -> str:
        """Numbers, such as weights or the axes of an operation."""
        if isinstance(values, Tensor):
            values = values.detach().cpu().float().numpy()
        array = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else np.int64, order="C")
        name = self.name("constant")
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        """An operation with one output."""
        name = self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def add_many(self, kind: str, inputs: Sequence[str], outputs: int, **attributes: object) -> list[str]:
        """An operation with several outputs."""
        names = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names


def bilm_graph(bilm: BiLM, boundaries: Ids) -> onnx.ModelProto:
    """A biLM as an ONNX model.

    Inputs are ``ids`` (B, T, W) without sentence markers, where rows of padding may hold any valid ids, and ``lengths``
    (B,), the tokens of each sentence. The output ``layers`` is (L, B, T, D), zero at padding.

    Args:
        bilm: The network; its context encoder is made of LSTMs.
        boundaries: (2, W) the ids of the sentence markers, which the graph puts around each sentence.
    """
    graph = Graph()
    ids, inside = _with_markers(graph, boundaries)  # (B, T', W), (B, T')
    tokens = _token_vectors(graph, bilm.token_encoder, ids)  # (B, T', P)
    steps = graph.add("Transpose", tokens, perm=[1, 0, 2])  # (T', B, P)
    mask = graph.add("Unsqueeze", graph.add("Transpose", inside, perm=[1, 0]), graph.constant([2]))  # (T', B, 1)
    layers = [graph.add("Concat", steps, steps, axis=2)]  # (T', B, D) each
    encoder = bilm.encoder
    assert isinstance(encoder, LstmEncoder)
    ahead = back = steps
    for number, pair in enumerate(zip(encoder.forward_layers, encoder.backward_layers, strict=True)):
        outputs = [_lstm(graph, pair[0], ahead, mask, 0), _lstm(graph, pair[1], back, mask, 1)]
        if encoder.skip_connections and number:
            outputs = [graph.add("Add", *both) for both in zip(outputs, (ahead, back), strict=True)]
        ahead, back = outputs
        layers.append(graph.add("Concat", ahead, back, axis=2))
    _output(graph, layers, mask)
    return _model(graph, width=boundaries.shape[1], layers=bilm.layers, dim=bilm.dim)


def _model(graph: Graph, *, width: int, layers: int, dim: int) -> onnx.ModelProto:
    """The finished graph with its inputs and its output."""
    made = helper.make_graph(
        graph.nodes,
        "bilm",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "tokens", width]),
            helper.make_tensor_value_info("lengths", TensorProto.INT64, ["batch"]),
        ],
        [helper.make_tensor_value_info("layers", TensorProto.FLOAT, [layers, "batch", "tokens", dim])],
        graph.weights,
    )
    return helper.make_model(
        made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="polyseme"
    )


def _with_markers(graph: Graph, boundaries: Ids) -> tuple[str, str]:
    """The ids with the markers of each sentence around its own tokens, and which places are in a sentence."""
    shape = graph.add("Shape", "ids")
    batch = graph.add("Slice", shape, graph.constant([0]), graph.constant([1]))
    tokens = graph.add("Slice", shape, graph.constant([1]), graph.constant([2]))
    row = graph.add("Concat", batch, graph.constant([1, boundaries.shape[1]]), axis=0)
    begin, end = (graph.constant(marker[None, None]) for marker in boundaries)
    first = graph.add("Expand", begin, row)  # (B, 1, W)
    whole = graph.add("Concat", first, "ids", first, axis=1)  # (B, T', W); the last place is filled below
    count = graph.add("Squeeze", graph.add("Add", tokens, graph.constant([2])), graph.constant([0]))
    zero, one = graph.constant(np.array(0)), graph.constant(np.array(1))
    places = graph.add("Unsqueeze", graph.add("Range", zero, count, one), graph.constant([0]))  # (1, T')
    last = graph.add("Unsqueeze", graph.add("Add", "lengths", one), graph.constant([1]))  # (B, 1)
    at_end = graph.add("Unsqueeze", graph.add("Equal", places, last), graph.constant([2]))  # (B, T', 1)
    inside = graph.add("LessOrEqual", places, last)  # (B, T')
    marked = graph.add("Where", at_end, end, whole)
    # Padding may hold anything, such as -1: the beginning's ids are valid in its place.
    return graph.add("Where", graph.add("Unsqueeze", inside, graph.constant([2])), marked, begin), inside


def _token_vectors(graph: Graph, encoder: TokenEncoder, ids: str) -> str:
    """(B, T', W) to (B, T', P)."""
    if isinstance(encoder, WordTokenEncoder):
        only = graph.add("Squeeze", ids, graph.constant([2]))
        return graph.add("Gather", graph.constant(encoder.words.weight), only)
    assert isinstance(encoder, CharacterTokenEncoder)
    shape = graph.add("Shape", ids)
    front = graph.add("Slice", shape, graph.constant([0]), graph.constant([2]))
    rows = graph.add(
        "Reshape",
        ids,
        graph.add(
            "Concat", graph.constant([-1]), graph.add("Slice", shape, graph.constant([2]), graph.constant([3])), axis=0
        ),
    )  # (N, W)
    word_id = None
    if encoder.words is not None:
        word_id = graph.add("Gather", rows, graph.constant(np.array(0)), axis=1)  # (N,)
        rows = graph.add("Slice", rows, graph.constant([1]), graph.constant([1 << 30]), graph.constant([1]))
    features = _character_features(graph, encoder.characters, rows)  # (N, F)
    for highway in encoder.highways:
        features = _highway(graph, features, highway.get_parameter("weight"), highway.get_parameter("bias"))
    if encoder.words is not None and word_id is not None:
        vector = graph.add("Gather", graph.constant(encoder.words.weight), word_id)
        features = graph.add("Concat", vector, features, axis=1)
    projected = graph.add(
        "Gemm", features, graph.constant(encoder.projection.weight), graph.constant(encoder.projection.bias), transB=1
    )
    return graph.add("Reshape", projected, graph.add("Concat", front, graph.constant([-1]), axis=0))


def _character_features(graph: Graph, cnn: CharacterCnn, rows: str) -> str:
    """(N, C) to (N, F): the maxima of all filters."""
    characters = graph.add("Gather", graph.constant(cnn.embedding.weight), rows)  # (N, C, d)
    characters = graph.add("Transpose", characters, perm=[0, 2, 1])
    maxima = []
    for convolution in cnn.convolutions:
        weight, bias = convolution.get_parameter("weight"), convolution.get_parameter("bias")
        found = graph.add("Conv", characters, graph.constant(weight), graph.constant(bias))
        maxima.append(graph.add("ReduceMax", found, axes=[2], keepdims=0))  # (N, filters)
    features = graph.add("Concat", *maxima, axis=1)
    return graph.add("Relu" if cnn.activation == "relu" else "Tanh", features)


def _highway(graph: Graph, features: str, weight: Tensor, bias: Tensor) -> str:
    both = graph.add("Gemm", features, graph.constant(weight), graph.constant(bias), transB=1)  # (N, 2F)
    new, gate = graph.add_many("Split", [both], 2, axis=1)
    gate = graph.add("Sigmoid", gate)
    new = graph.add("Relu", new)
    # gate * x + (1 - gate) * new
    return graph.add("Add", new, graph.add("Mul", gate, graph.add("Sub", features, new)))


def _lstm(graph: Graph, layer: nn.Module, steps: str, mask: str, reverse: int) -> str:
    """One layer of one direction over all steps: (T', B, P) to (T', B, P).

    Where a sentence is over, or has not begun for the backward direction, its state stays as it is, which before its
    first token is zero.
    """
    assert isinstance(layer, ProjectedLstm)
    weight = graph.constant(layer.weight_ih.t())
    gates = graph.add("Add", graph.add("MatMul", steps, weight), graph.constant(layer.run_time_bias()))  # (T', B, 4H)
    shape = graph.add("Shape", steps)
    batch = graph.add("Slice", shape, graph.constant([1]), graph.constant([2]))

    def zeros(width: int) -> str:
        size = graph.add("Concat", batch, graph.constant([width]), axis=0)
        return graph.add("ConstantOfShape", size, value=numpy_helper.from_array(np.zeros(1, dtype=np.float32)))

    _, _, outputs = graph.add_many(
        "Scan",
        [zeros(layer.projection_dim), zeros(layer.hidden_dim), gates, mask],
        3,
        body=_step(layer, graph.name("step")),
        num_scan_inputs=2,
        scan_input_directions=[reverse, reverse],
        scan_output_directions=[reverse],
    )
    return outputs


def _step(layer: ProjectedLstm, name: str) -> onnx.GraphProto:
    """One step of an LSTM: hidden (B, P), cells (B, H), gate inputs (B, 4H) and mask (B, 1) to the next state."""
    graph = Graph(f"{name}_")
    recurrent = graph.add("MatMul", "hidden", graph.constant(layer.weight_hh.t()))
    gates = graph.add("Add", "gates", recurrent)
    admit, keep, candidate, emit = graph.add_many("Split", [gates], 4, axis=1)
    new = graph.add("Mul", graph.add("Sigmoid", admit), graph.add("Tanh", candidate))
    cells = graph.add("Add", new, graph.add("Mul", graph.add("Sigmoid", keep), "cells"))
    cells = _clip(graph, cells, layer.cell_clip)
    hidden = graph.add("Mul", graph.add("Sigmoid", emit), graph.add("Tanh", cells))
    hidden = _clip(graph, graph.add("MatMul", hidden, graph.constant(layer.weight_hr.t())), layer.projection_clip)
    nodes = graph.nodes
    for found, before, after in ((hidden, "hidden", "hidden_after"), (cells, "cells", "cells_after")):
        nodes.append(helper.make_node("Where", ["mask", found, before], [after]))
    nodes.append(helper.make_node("Identity", ["hidden_after"], ["output"]))

    def floats(name: str, width: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])

    size, cells_size = layer.projection_dim, layer.hidden_dim
    return helper.make_graph(
        nodes,
        name,
        [
            floats("hidden", size),
            floats("cells", cells_size),
            floats("gates", 4 * cells_size),
            helper.make_tensor_value_info("mask", TensorProto.BOOL, ["batch", 1]),
        ],
        [floats("hidden_after", size), floats("cells_after", cells_size), floats("output", size)],
        graph.weights,
    )


def _clip(graph: Graph, values: str, limit: float) -> str:
    if math.isinf(limit):
        return values
    low, high = (graph.constant(np.array(bound, dtype=np.float32)) for bound in (-limit, limit))
    return graph.add("Clip", values, low, high)


def _output(graph: Graph, layers: Sequence[str], mask: str) -> None:
    """Stack the layers, without markers and with zeros at padding, as ``layers`` (L, B, T, D)."""
    front = graph.constant([0])
    stacked = graph.add("Concat", *(graph.add("Unsqueeze", layer, front) for layer in layers), axis=0)  # (L, T', B, D)
    # Without the end markers the last T places are those of tokens that are one place on in the mask.
    inner = graph.add("Slice", stacked, graph.constant([1]), graph.constant([-1]), graph.constant([1]))
    inside = graph.add("Slice", mask, graph.constant([2]), graph.constant([1 << 30]), graph.constant([0]))
    kept = graph.add("Where", inside, inner, graph.constant(np.array(0, dtype=np.float32)))
    graph.nodes.append(helper.make_node("Transpose", [kept], ["layers"], perm=[0, 2, 1, 3]))
