"""Make the files of this folder with the TensorFlow that bilm-tf was written for.

Needs Python 3.6 with ``tensorflow==1.2.1``, ``numpy<1.17`` and ``h5py<3``, in an environment of its own::

    python make.py
"""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import h5py
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import io_ops

HERE = Path(__file__).resolve().parent
STEP = 935588
WORDS = ["<S>", "</S>", "<UNK>", "the", "of", "and", "a", "in", "river", "bank", ".", ",", "money", "boat", "sat"]
WORDS += ["on", "she", "he", "café", "河"]
SENTENCES = [
    ["the", "river", "bank", "."],
    ["she", "sat"],
    ["河", "bank", "of", "unseen-words", "café", ",", "the", "."],
]
LSTM: "dict[str, float]" = {
    "dim": 16,
    "projection_dim": 8,
    "n_layers": 2,
    "cell_clip": 1.5,
    "proj_clip": 1,
    "use_skip_connections": True,
}
FILTERS = [[1, 4], [2, 8], [3, 16]]
CNN = {
    "activation": "relu",
    "embedding": {"dim": 4},
    "filters": FILTERS,
    "max_characters_per_token": 50,
    "n_characters": 261,
    "n_highway": 1,
}
OPTIONS = {
    "all_clip_norm_val": 10.0,
    "batch_size": 2,
    "bidirectional": True,
    "char_cnn": CNN,
    "dropout": 0.1,
    "lstm": LSTM,
    "n_epochs": 1,
    "n_negative_samples_batch": 4,
    "n_tokens_vocab": len(WORDS),
    "n_train_tokens": 1000,
    "unroll_steps": 3,
}


def character_ids(word: str) -> "list[int]":
    """Return the ids of a word as bilm-tf trains with them: bytes, then 256 to 260 for the markers."""
    inner = [256] if word == "<S>" else [257] if word == "</S>" else list(word.encode("utf-8"))[:48]
    ids = [258, *inner, 259]
    return ids + [260] * (50 - len(ids))


def variable(name: str, shape: "list[int]", scale: float) -> tf.Variable:
    """Return a variable under a name, with random values so that no two weights agree by accident."""
    return tf.get_variable(name, shape, initializer=tf.random_uniform_initializer(-scale, scale))


def token_vectors(characters: tf.Tensor) -> tf.Tensor:
    """Encode characters (B, T, 50) as token vectors (B, T, 8)."""
    width = sum(count for _, count in FILTERS)
    batch, steps = characters.get_shape().as_list()[:2]
    # (B, T, 50, 4)
    x = tf.nn.embedding_lookup(variable("char_embed", [261, 4], 1.0), characters)
    features = []
    with tf.variable_scope("CNN"):
        for i, (size, count) in enumerate(FILTERS):
            kernel = variable(f"W_cnn_{i}", [1, size, 4, count], 0.8)
            bias = variable(f"b_cnn_{i}", [count], 0.5)
            convolved = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="VALID") + bias
            features.append(tf.nn.relu(tf.reduce_max(convolved, axis=2)))  # (B, T, count)
    y = tf.reshape(tf.concat(features, 2), [batch * steps, width])
    with tf.variable_scope("CNN_proj"):
        projection, offset = variable("W_proj", [width, 8], 0.1), variable("b_proj", [8], 0.5)
    with tf.variable_scope("CNN_high_0"):
        carry = tf.nn.sigmoid(
            tf.matmul(y, variable("W_carry", [width, width], 0.4)) + variable("b_carry", [width], 1.0)
        )
        transformed = tf.matmul(y, variable("W_transform", [width, width], 0.4)) + variable("b_transform", [width], 0.5)
        y = carry * tf.nn.relu(transformed) + (1.0 - carry) * y
    return tf.reshape(tf.matmul(y, projection) + offset, [batch, steps, 8])


def stack_of_cells() -> tf.nn.rnn_cell.MultiRNNCell:
    """Return TensorFlow's own LSTM cells, stacked with a skip connection into the second layer."""
    cells = []
    for layer in range(int(LSTM["n_layers"])):
        cell = tf.nn.rnn_cell.LSTMCell(
            LSTM["dim"],
            num_proj=LSTM["projection_dim"],
            cell_clip=LSTM["cell_clip"],
            proj_clip=LSTM["proj_clip"],
            initializer=tf.random_uniform_initializer(-0.9, 0.9),
        )
        cells.append(tf.nn.rnn_cell.ResidualWrapper(cell) if layer else cell)
    return tf.nn.rnn_cell.MultiRNNCell(cells)


def build(
    forward_ids: np.ndarray, backward_ids: np.ndarray, reuse: "bool | None" = None
) -> "tuple[list[tf.Tensor], list[tf.Tensor], tuple[tf.Variable, tf.Variable]]":
    """Build both directions; return token vectors (B, T, 8) and layers (2, B, T, 8) of each, and the softmax."""
    batch, steps = forward_ids.shape[:2]
    with tf.variable_scope("lm", reuse=reuse):
        tokens, outputs = [token_vectors(tf.constant(forward_ids))], []
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):  # both directions share the token encoder
            tokens.append(token_vectors(tf.constant(backward_ids)))
        for direction in range(2):
            cell, layers = stack_of_cells(), []
            state = cell.zero_state(batch, tf.float32)
            with tf.variable_scope(f"RNN_{direction}"), tf.variable_scope("rnn") as scope:
                for step in range(steps):
                    if step:
                        scope.reuse_variables()
                    top, state = cell(tokens[direction][:, step], state)
                    layers.append(tf.stack([state[0].h, top]))  # (2, B, 8)
            outputs.append(tf.stack(layers, axis=2))
        with tf.variable_scope("softmax"):
            softmax = variable("W", [len(WORDS), 8], 1.0), variable("b", [len(WORDS)], 1.0)
    return tokens, outputs, softmax


def hdf5_name(name: str) -> str:
    """Return the name that bilm-tf's HDF5 files use for a variable of its checkpoints."""
    for old, new in [
        ("lm/", ""),
        ("/rnn/multi_rnn_cell/cell_", "/RNN/MultiRNNCell/Cell"),
        ("/lstm_cell/projection/kernel", "/LSTMCell/W_P_0"),
        ("/lstm_cell/kernel", "/LSTMCell/W_0"),
        ("/lstm_cell/bias", "/LSTMCell/B"),
    ]:
        name = name.replace(old, new)
    return name


def expectations(session: tf.Session) -> "dict[str, np.ndarray]":
    """Run every sentence alone from a zero state; return its ids, layers and log-probabilities."""
    found = {}
    for number, sentence in enumerate(SENTENCES):
        words = ["<S>", *sentence, "</S>"]
        ids = np.array([[character_ids(word) for word in words]])
        tokens, outputs, (weight, bias) = build(ids, ids[:, ::-1], reuse=True)
        logits = [tf.nn.log_softmax(tf.matmul(out[1, 0], weight, transpose_b=True) + bias) for out in outputs]
        token, (forward, backward), scores = session.run([tokens[0], outputs, logits])
        backward = backward[:, :, ::-1]
        layers = [np.concatenate([token, token], 2), *np.concatenate([forward, backward], 3)]
        targets = [WORDS.index(word) if word in WORDS else 2 for word in words]
        steps = np.arange(len(words) - 1)
        found.update(
            {
                f"sentence_{number}/tokens": np.array(sentence),
                f"sentence_{number}/character_ids": ids[0].astype(np.int32),
                f"sentence_{number}/layers": np.stack(layers)[:, 0],
                f"sentence_{number}/forward_log_probability": scores[0][steps, targets[1:]],
                f"sentence_{number}/backward_log_probability": scores[1][steps, targets[-2::-1]][::-1],
            }
        )
    return found


def make_bilm() -> None:
    """Write a checkpoint with every variable bilm-tf has when it trains, after three real training steps."""
    tf.set_random_seed(13)
    # bilm-tf gives no type for its step counter, so it is a float32.
    step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(STEP - 3), trainable=False)
    tf.get_variable("train_perplexity", [], initializer=tf.constant_initializer(0.0), trainable=False)
    optimizer = tf.train.AdagradOptimizer(0.2, initial_accumulator_value=1.0)
    ids = np.array([[character_ids(word) for word in row] for row in [WORDS[3:6], WORDS[8:11]]])
    _, outputs, (weight, bias) = build(ids, ids[:, ::-1])
    tops = tf.reshape(tf.stack([out[1] for out in outputs]), [-1, 8])
    labels = tf.constant([4, 5, 6, 9, 10, 11, 4, 3, 1, 9, 8, 1])
    logits = tf.matmul(tops, weight, transpose_b=True) + bias
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = optimizer.apply_gradients(optimizer.compute_gradients(loss), global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        noise = np.random.RandomState(13)
        for each in tf.global_variables():
            value = session.run(each)
            if each.op.name.endswith("lstm_cell/bias"):  # TensorFlow starts them at zero, which would hide mistakes
                value += noise.uniform(-1.0, 1.0, value.shape)
            each.load(np.round(value * 64) / 64, session)  # fewer bits keep the compressed file small
        tf.train.Saver(tf.global_variables()).save(
            session, str(HERE / "model" / "model.ckpt"), global_step=step, write_meta_graph=False, write_state=False
        )
        weights = {hdf5_name(each.op.name): session.run(each) for each in tf.trainable_variables()}
        found = expectations(session)
    with h5py.File(str(HERE / "weights.hdf5"), "w", libver="latest") as file:
        for name in sorted(weights):
            if not name.startswith("softmax"):  # bilm-tf leaves these out
                file.create_dataset(name, data=weights[name])
    found.update({"weights/" + name: value for name, value in weights.items()})
    np.savez_compressed(str(HERE / "expected.npz"), **found)  # type: ignore[arg-type]
    (HERE / "model" / "options.json").write_text(json.dumps(OPTIONS), encoding="utf-8")
    (HERE / "model" / "vocab.txt").write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")
    path = "/home/author/runs/1/model.ckpt"
    lines = [f'model_checkpoint_path: "{path}-{STEP}"']
    lines += [f'all_model_checkpoint_paths: "{path}-{step}"' for step in (STEP - 1250, STEP)]
    (HERE / "model" / "checkpoint").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def make_sharded() -> None:
    """Write a checkpoint in two shards, with variables in three parts, by row and by column."""
    with tf.device("/cpu:0"):
        rows = tf.get_variable(
            "rows",
            initializer=tf.constant(np.arange(21, dtype=np.float32).reshape(7, 3)),
            partitioner=tf.fixed_size_partitioner(3),
        )
    with tf.device("/cpu:1"):
        # 200 columns: the place of a part then takes two bytes in its key.
        tf.get_variable(
            "columns",
            initializer=tf.constant(np.arange(400, dtype=np.float32).reshape(2, 200)),
            partitioner=tf.fixed_size_partitioner(3, axis=1),
        )
        tf.get_variable("whole", initializer=tf.constant([[1, 2], [3, 4]], tf.int64))
    assert len(list(rows)) == 3
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver(tf.global_variables(), sharded=True).save(
            session, str(HERE / "bundles" / "sharded.ckpt"), write_meta_graph=False, write_state=False
        )


def make_types() -> None:
    """Write one tensor of every type that is read, and two that are not."""
    values = np.array([[0.5, -1.25, 3.0], [0.0, 1e-3, -65504.0]])
    tensors = {
        "float32": tf.constant(values, tf.float32),
        "float64": tf.constant(values, tf.float64),
        "float16": tf.constant(values, tf.float16),
        "bfloat16": tf.cast(tf.constant(values, tf.float32), tf.bfloat16),
        "int32": tf.constant([-1, 2**31 - 1], tf.int32),
        "int64": tf.constant([-1, 2**63 - 1], tf.int64),
        "scalar": tf.constant(7.0),
        "empty": tf.zeros([0, 5]),
        "bool": tf.constant([True, False]),
        "string": tf.constant(["one", "three"]),
    }
    names = sorted(tensors)
    with tf.Session() as session:
        prefix = str(HERE / "bundles" / "types.ckpt")
        session.run(io_ops.save_v2(prefix, names, [""] * len(names), [tensors[name] for name in names]))


if __name__ == "__main__":
    for folder in ("model", "bundles"):
        (HERE / folder).mkdir(exist_ok=True)
    for make in (make_bilm, make_sharded, make_types):
        with tf.Graph().as_default():
            make()
