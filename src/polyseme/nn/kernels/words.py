"""The character encoder of words: convolutions as sums of table rows, then packed highway and projection layers."""

import ctypes

import torch
from torch import Tensor, nn

from polyseme.nn.char_cnn import CharacterCnn
from polyseme.nn.highway import Highway
from polyseme.nn.kernels.build import library
from polyseme.nn.kernels.packed import Matrix, Precision, pack_panels, pad


class _Filters(ctypes.Structure):
    _fields_ = (("table", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("width", "count", "blocks")))


class _CnnJob(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("ids", "lengths", "filters", "bias", "features")),
        *(
            (name, ctypes.c_int64)
            for name in ("words", "positions", "characters", "padding", "groups", "dim", "tanh", "threads")
        ),
    )


class _DenseJob(ctypes.Structure):
    _fields_ = (
        ("weight", Matrix),
        *((name, ctypes.c_void_p) for name in ("bias", "inputs", "outputs")),
        *((name, ctypes.c_int64) for name in ("rows", "input_dim", "output_dim", "threads")),
    )


class TabledCnn:
    """A `CharacterCnn` whose products are computed beforehand.

    What a filter makes of a character at an offset of its window is one number, so that a convolution is a sum of rows
    of a table (width, characters, filters). For the published filters the tables take 13 MB.
    """

    def __init__(self, cnn: CharacterCnn) -> None:
        built = library()
        assert built is not None
        self._run = built.polyseme_character_cnn
        self._cnn = cnn
        block = 4 * built.polyseme_lanes()
        characters = cnn.embedding.weight.detach()  # (characters, character_dim)
        self._tables: list[Tensor] = []
        biases: list[Tensor] = []
        self._filters = (_Filters * len(cnn.convolutions))()
        for place, convolution in zip(self._filters, cnn.convolutions, strict=True):
            assert isinstance(convolution, nn.Conv1d)
            assert convolution.bias is not None
            table = torch.einsum("kd,fdw->wkf", characters, convolution.weight.detach())  # (width, characters, filters)
            table = pad(table, 2, block).unflatten(2, (-1, block)).permute(2, 0, 1, 3).contiguous()
            self._tables.append(table)
            biases.append(convolution.bias.detach())
            place.table, place.blocks = table.data_ptr(), len(table)
            place.width, place.count = convolution.kernel_size[0], convolution.out_channels
        self._bias = torch.cat(biases)

    def __call__(self, character_ids: Tensor) -> Tensor:
        """Features (U, F) of words (U, C)."""
        cnn = self._cnn
        words, positions = character_ids.shape
        ids = character_ids.contiguous()
        if words and not 0 <= int(ids.min()) <= int(ids.max()) < cnn.embedding.num_embeddings:
            raise IndexError(f"character ids must lie within 0..{cnn.embedding.num_embeddings - 1}")
        used = (ids != cnn.padding_id) * torch.arange(1, positions + 1)
        lengths = used.amax(dim=1).contiguous()
        features = torch.empty(words, cnn.dim)
        job = _CnnJob(
            ids=ids.data_ptr(),
            lengths=lengths.data_ptr(),
            filters=ctypes.addressof(self._filters),
            bias=self._bias.data_ptr(),
            features=features.data_ptr(),
            words=words,
            positions=positions,
            characters=cnn.embedding.num_embeddings,
            padding=cnn.padding_id,
            groups=len(self._tables),
            dim=cnn.dim,
            tanh=cnn.activation == "tanh",
            threads=torch.get_num_threads(),
        )
        self._run(ctypes.byref(job))
        return features


class PackedDense:
    """A linear or a highway layer, packed."""

    def __init__(self, layer: nn.Linear | Highway, precision: Precision) -> None:
        built = library()
        assert built is not None
        lanes = built.polyseme_lanes()
        weight, bias = layer.weight.detach(), layer.bias.detach()
        if isinstance(layer, Highway):
            self._run = getattr(built, f"polyseme_highway_{precision}")
            self._outputs = len(weight) // 2

            def arrange(
                rows: Tensor,
            ) -> Tensor:  # (2F, ...) to (panels, 4, lanes, ...): transform, transform, gate, gate
                pairs = pad(rows.unflatten(0, (2, -1)), 1, 2 * lanes).unflatten(1, (-1, 2, lanes))
                result: Tensor = pairs.transpose(0, 1).flatten(1, 2)
                return result
        else:
            self._run = getattr(built, f"polyseme_linear_{precision}")
            self._outputs = len(weight)

            def arrange(rows: Tensor) -> Tensor:
                result: Tensor = pad(rows, 0, 4 * lanes).unflatten(0, (-1, 4, lanes))
                return result

        self._weight = pack_panels(arrange(weight), precision)
        self._bias = arrange(bias).contiguous()

    def __call__(self, inputs: Tensor) -> Tensor:
        """Rows (U, I) to (U, O)."""
        inputs = inputs.contiguous()
        outputs = torch.empty(len(inputs), self._outputs)
        job = _DenseJob(
            weight=self._weight.pointers(),
            bias=self._bias.data_ptr(),
            inputs=inputs.data_ptr(),
            outputs=outputs.data_ptr(),
            rows=len(inputs),
            input_dim=inputs.shape[1],
            output_dim=self._outputs,
            threads=torch.get_num_threads(),
        )
        self._run(ctypes.byref(job))
        return outputs
