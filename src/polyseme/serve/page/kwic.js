// Sentences as keyword in context; a click shows the whole sentence and where it came from.
import { h, joined } from "./dom.js";

export function kwicList(app, rows, { similarity = false } = {}) {
  return h("ol", { class: "kwic" }, rows.map((row) => kwicRow(app, row, similarity)));
}

function kwicRow(app, row, similarity) {
  const { sentence, position, point } = row;
  const left = joined(sentence.slice(Math.max(0, position - 14), position));
  const right = joined(sentence.slice(position + 1, position + 15));
  const button = h("button", {
    type: "button",
    class: "line",
    "aria-expanded": "false",
    title: point === null || point === undefined ? app.t("notOnMap") : null,
    onclick: () => open(app, item, row),
    onmouseenter: () => app.point(point ?? null),
    onmouseleave: () => app.point(null),
    onfocus: () => app.point(point ?? null),
  }, h("span", { class: "left" }, h("bdi", {}, left)), h("b", {}, sentence[position]), h("span", { class: "right" }, right));
  const item = h("li", { class: point === null || point === undefined ? "off" : "" }, button);
  if (similarity) item.prepend(h("i", { class: "similarity" }, row.similarity.toFixed(2)));
  return item;
}

function open(app, item, row) {
  const old = item.querySelector(".whole");
  item.querySelector(".line").setAttribute("aria-expanded", String(!old));
  if (old) return old.remove();
  const { sentence, position } = row;
  item.append(h("div", { class: "whole" },
    h("p", {}, `${joined(sentence.slice(0, position))} `, h("mark", {}, sentence[position]), ` ${joined(sentence.slice(position + 1))}`),
    h("p", { class: "source" }, place(app, row)),
    app.data.live && h("button", { type: "button", class: "small", onclick: () => app.set({ tab: "sentence", text: sentence.join(" "), at: position }) }, app.t("nearest"))));
  if (row.point !== null && row.point !== undefined) app.focus(row.point);
  return null;
}

export function place(app, row) {
  const parts = [row.document && row.document !== row.file ? row.document : null, row.file ? row.file.split("/").pop() + (row.line ? `:${row.line}` : "") : null];
  if (app.data.facts.corpora.length > 1) parts.unshift(app.data.facts.corpora[row.corpus].name);
  return parts.filter(Boolean).join(" · ");
}
