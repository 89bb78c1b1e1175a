"""Draws the pictures of "How ELMo works" with the software itself, from the bundled models.

python -m site_build.pictures
"""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

import polyseme
from polyseme import plots
from polyseme.cli.demo import SHOWN, sentences
from polyseme.files.whole import write_text
from polyseme.models.config import CharacterEncoderConfig
from polyseme.plots.picture import COLOURS, picture
from polyseme.study.compare import compare_word
from polyseme.text.marked import mark, marked
from site_build.links import ROOT

FOLDER = ROOT / "docs/pictures"
SENTENCES = [
    "She acted in a play about a king.",
    "He wrote the play in three weeks.",
    "We play football after school.",
    "They play cards every evening.",
]
SURPRISE = "The children play football behind the old house."


def network(path: Path, embedder: polyseme.Embedder) -> None:
    """Draw the parts of a model, with the sizes that its own config has."""
    config = embedder.model.bilm_config
    token, encoder = config.token_encoder, config.encoder
    assert isinstance(token, CharacterEncoderConfig)
    filters = token.filters
    widths = f"{filters[0][0]} to {filters[-1][0]}"
    width = config.projection_dim
    boxes = [
        (560, "the characters of each word", f"at most {token.max_characters}, {token.character_dim} numbers each"),
        (470, "convolutions over characters", f"{sum(n for _, n in filters):,} filters, {widths} characters wide"),
        (380, "layer 0: the word alone", f"highway layer, then {width} numbers"),
    ]
    parts = [_box(190, top, 420, *text) for top, *text in boxes]
    parts += [_arrow(400, top, top - 30) for top in (560, 470)]
    for x, direction, arrow in ((40, "forward", "→"), (420, "backward", "←")):
        for layer in range(encoder.layers):
            top = 270 - 90 * layer
            name = f"layer {layer + 1}, {direction} {arrow}"
            parts.append(_box(x, top, 340, name, f"LSTM of {encoder.hidden_dim:,} cells, {width} numbers out"))
            parts.append(_arrow(x + 170, top + (110 if layer == 0 else 90), top + 60))
        top = 270 - 90 * encoder.layers
        what = "next" if arrow == "→" else "previous"
        text = f"softmax over {config.vocabulary_size:,} words"
        parts.append(_box(x, top, 340, f"predicts the {what} word", text, light=True))
        parts.append(_arrow(x + 170, top + 90, top + 60))
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 60 800 570" font-family="sans-serif">'
    write_text(path, f"{head}{''.join(parts)}</svg>\n")


def _box(x: int, y: int, width: int, title: str, text: str, *, light: bool = False) -> str:
    fill = "#ffffff" if light else COLOURS[5] + "55"
    middle = x + width // 2
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="60" rx="6" fill="{fill}" stroke="{COLOURS[0]}"/>'
        f'<text x="{middle}" y="{y + 26}" text-anchor="middle" font-size="17" fill="#000">{escape(title)}</text>'
        f'<text x="{middle}" y="{y + 47}" text-anchor="middle" font-size="14" fill="#333">{escape(text)}</text>'
    )


def _arrow(x: int, start: int, end: int) -> str:
    return (
        f'<path d="M{x} {start} V{end + 8}" stroke="#333" fill="none"/>'
        f'<path d="M{x - 5} {end + 9} L{x} {end} L{x + 5} {end + 9} Z" fill="#333"/>'
    )


def layers(path: Path, embedder: polyseme.Embedder) -> None:
    """Draw how alike a word is in four sentences, layer by layer."""
    found = compare_word(embedder, "play", SENTENCES)
    labels = [mark(tokens, position, around=4) for tokens, position in found.sentences]
    plots.similarity_map(path, found.tables, labels, title="play in four sentences")


def surprise(path: Path, embedder: polyseme.Embedder) -> None:
    """Draw how likely each direction finds each word of a sentence."""
    (tokens,) = embedder.tokenize(SURPRISE)
    (scores,) = embedder.score([tokens])  # (T, 2)
    title = "How likely is each word, given those before it and given those after it?"
    with picture(path, [*tokens, title], title=title, height=3.6) as page:
        at = np.arange(len(tokens))
        bars = [
            page.axes.bar(at + shift, np.exp(scores[:, side]), width=0.4, color=COLOURS[side])
            for side, shift in ((0, -0.2), (1, 0.2))
        ]
        page.axes.set_xticks(at, tokens)
        page.axes.set(ylabel="probability", yscale="log")
        page.axes.yaxis.set_major_formatter("{x:g}")
        page.legend(bars, ["forward: from the words before", "backward: from the words after"])


def occurrences(path: Path, embedder: polyseme.Embedder, word: str) -> None:
    """Draw the demo's sentences of a word, coloured by sense: the picture of the README."""
    rows = [row for row in sentences(SHOWN["english-small"]) if row["word"] == word]
    places = [marked(row["sentence"], embedder.segmentation) for row in rows]
    found = embedder.embed([tokens for tokens, _ in places], layers="top")
    points = np.stack([one[position] for one, (_, position) in zip(found, places, strict=True)])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    kinds = list(dict.fromkeys(row["sense"] for row in rows))
    texts: Sequence[str] = [mark(tokens, position, around=4) for tokens, position in places]
    clusters = [kinds.index(row["sense"]) for row in rows]
    title = f"{word}: the top layer in {len(rows)} sentences"
    plots.occurrence_map(path, points, clusters, names=kinds, texts=texts, most_texts=5, title=title)


def main() -> None:
    """Draw all of them."""
    embedder = polyseme.load("english-small")
    assert isinstance(embedder, polyseme.Embedder)
    FOLDER.mkdir(exist_ok=True)
    network(FOLDER / "network.svg", embedder)
    layers(FOLDER / "layers.png", embedder)
    surprise(FOLDER / "surprise.png", embedder)
    occurrences(ROOT / "docs/play.png", embedder, "play")


if __name__ == "__main__":
    main()
