// The names of words over the map: in each part of the view, the word that most of its points are of.
import { HIDDEN, LIT } from "./colours.js";
import { h } from "./dom.js";

const CELL = [104, 60]; // pixels
const LEAST = 3; // points that make a name worth its place
const MOST = 90;

export function placeNames(pane) {
  const { places, emphasis, app, size: [width, height] } = pane;
  const { words, facts } = app.data;
  const columns = Math.ceil(width / CELL[0]);
  const cells = new Map(); // cell and word -> [count, sum of x, sum of y]
  const { x: across, y: down, frame: [left, low, right, high] } = pane.projection();
  const stride = facts.words.length;
  // Words that are lit have their colour; the names of their neighbours say where they are.
  pane.names.classList.toggle("quiet", emphasis.includes(LIT));
  for (let i = 0; i < places.x.length; i++) {
    const x = places.x[i], y = places.y[i];
    if (!(x > left && x < right && y > low && y < high) || emphasis[i] === HIDDEN || emphasis[i] === LIT) continue;
    const sx = across(x), sy = down(y);
    const key = (Math.floor(sy / CELL[1]) * columns + Math.floor(sx / CELL[0])) * stride + words[i];
    const cell = cells.get(key);
    if (cell) { cell[0]++; cell[1] += sx; cell[2] += sy; } else cells.set(key, [1, sx, sy]);
  }
  const best = new Map();
  for (const [key, [count, x, y]] of cells) {
    const cell = Math.floor(key / stride), before = best.get(cell);
    if (count >= LEAST && (!before || count > before.count)) best.set(cell, { count, x: x / count, y: y / count, word: key % stride });
  }
  const taken = [], made = [];
  for (const one of [...best.values()].sort((a, b) => b.count - a.count)) {
    const text = facts.words[one.word];
    const big = Math.min(17, 10.5 + 1.6 * Math.log2(1 + one.count / 4));
    const half = [text.length * big * 0.3 + 6, big * 0.75];
    const box = [one.x - half[0], one.y - half[1], one.x + half[0], one.y + half[1]];
    if (box[0] < 2 || box[2] > width - 2 || box[1] < 2 || box[3] > height - 2) continue;
    if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    made.push(h("span", { style: { left: `${one.x}px`, top: `${one.y}px`, fontSize: `${big}px` } }, text));
    if (made.length >= MOST) break;
  }
  pane.names.replaceChildren(...made);
}
