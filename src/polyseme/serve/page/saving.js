// What can be taken away: the picture, and the points as a table or as data.
import { palette } from "./colours.js";
import { spread } from "./data.js";
import { download, joined } from "./dom.js";

const SENTENCES = 20_000; // rows that get their sentence

export async function savePicture(app) {
  const scale = 2, panes = app.panes.filter((pane) => !pane.element.hidden);
  const pictures = [];
  for (const pane of panes) pictures.push(await pane.plot.export());
  const ratio = pictures[0].width / panes[0].size[0];
  const width = pictures.reduce((sum, one) => sum + one.width, 0), height = pictures[0].height;
  const canvas = new OffscreenCanvas(width, height), pen = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  pen.fillStyle = style.getPropertyValue("--ground");
  pen.fillRect(0, 0, width, height);
  let left = 0;
  for (const [number, picture] of pictures.entries()) {
    pen.drawImage(await createImageBitmap(picture), left, 0);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const name of panes[number].names.children) {
      pen.font = `600 ${parseFloat(name.style.fontSize) * ratio}px system-ui, sans-serif`;
      pen.lineWidth = 3 * ratio;
      pen.strokeStyle = style.getPropertyValue("--ground");
      pen.fillStyle = style.getPropertyValue("--ink");
      const [x, y] = [left + parseFloat(name.style.left) * ratio, parseFloat(name.style.top) * ratio];
      pen.strokeText(name.textContent, x, y);
      pen.fillText(name.textContent, x, y);
    }
    left += picture.width;
  }
  drawLegend(app, pen, ratio, height, style);
  download("polyseme.png", await canvas.convertToBlob({ type: "image/png" }));
  return scale;
}

function drawLegend(app, pen, ratio, height, style) {
  const colours = palette(app.theme);
  pen.textAlign = "left";
  pen.font = `${12 * ratio}px system-ui, sans-serif`;
  app.legend.slice(0, 14).forEach(({ colour, name }, row, all) => {
    const y = height - (all.length - row) * 20 * ratio;
    pen.fillStyle = colours[colour];
    pen.beginPath();
    pen.arc(16 * ratio, y, 5 * ratio, 0, 7);
    pen.fill();
    pen.fillStyle = style.getPropertyValue("--ink");
    pen.fillText(name, 28 * ratio, y);
  });
}

// The selection, or the words that are lit, or all points.
function chosen(app) {
  if (app.selected.length) return app.selected;
  const lit = [...new Set(app.state.words.flatMap((word) => app.data.pointsOf(word)))];
  return lit.length ? lit : Array.from({ length: app.data.count }, (_, point) => point);
}

async function rows(app) {
  const points = chosen(app), places = await app.data.layer(app.state.layer), { facts } = app.data;
  const known = new Map();
  if (points.length <= SENTENCES) {
    for (let start = 0; start < points.length; start += 1000) {
      for (const one of (await app.data.occurrences(spread(points.slice(start, start + 1000), 1000))).data) known.set(one.point, one);
    }
  }
  const senses = new Map(app.senses?.points?.map((point, place) => [point, app.senses.assigned[place] + 1]) ?? []);
  const fixed = (value) => (Number.isNaN(value) ? null : Number(value.toFixed(5)));
  return points.map((point) => {
    const one = known.get(point);
    return {
      point, word: facts.words[app.data.words[point]], layer: app.state.layer, x: fixed(places.x[point]), y: fixed(places.y[point]),
      text: facts.corpora[app.data.corpora[point]].name, document: facts.documents[app.data.documents[point]] || null,
      label: facts.labels ? facts.labels.names[app.data.labels[point]] || null : null, sense: senses.get(point) ?? null,
      sentence: one ? joined(one.sentence) : null, position: one?.position ?? null, file: one?.file ?? null, line: one?.line ?? null,
    };
  });
}

export async function saveTable(app) {
  const found = await rows(app), names = Object.keys(found[0]);
  const cell = (value) => (value === null ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value);
  download("polyseme.csv", [names.join(","), ...found.map((row) => names.map((name) => cell(row[name])).join(","))].join("\n") + "\n", "text/csv");
  return found.length;
}

export async function saveData(app) {
  const found = await rows(app), { model, fingerprint } = app.data.facts;
  download("polyseme.json", JSON.stringify({ model, fingerprint, address: location.hash, points: found }, null, 1), "application/json");
  return found.length;
}
