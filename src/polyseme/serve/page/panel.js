// The panel beside the map: a word and its senses, the selection, a sentence, the comparison.
import { brightColour, palette } from "./colours.js";
import { h } from "./dom.js";
import { kwicList } from "./kwic.js";

const TABS = ["word", "selection", "sentence", "compare"];

export class Panel {
  constructor(element, app) {
    this.app = app;
    this.tabs = h("nav", { role: "tablist" });
    this.body = h("div", { class: "body", role: "tabpanel", tabindex: "-1" });
    this.grip = h("button", { class: "grip", type: "button", "aria-label": "panel", onclick: () => element.classList.toggle("low") });
    element.append(this.grip, this.tabs, this.body);
    this.turn = 0;
  }

  drawTabs() {
    const { app } = this;
    this.tabs.replaceChildren(...TABS.map((name) => h("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(app.state.tab === name), onclick: () => app.set({ tab: name }),
    }, app.t(`tab${name[0].toUpperCase()}${name.slice(1)}`))));
  }

  async draw() {
    this.drawTabs();
    const turn = ++this.turn;
    const show = (...children) => { if (turn === this.turn) this.body.replaceChildren(...children.flat().filter(Boolean)); };
    this.body.setAttribute("aria-busy", "true");
    try {
      await this[this.app.state.tab in Panel.VIEWS ? this.app.state.tab : "word"](show);
    } catch (error) {
      show(h("p", { class: "hint" }, error.message === "static" ? this.app.t("onlyServed") : this.app.t("failed", { e: error.message })));
    }
    if (turn === this.turn) this.body.setAttribute("aria-busy", "false");
  }

  static VIEWS = { word: 1, selection: 1, sentence: 1, compare: 1 };

  async word(show) {
    const { app } = this, { t, state } = app;
    if (!state.words.length) return show(h("p", { class: "hint" }, t("noWord")), h("p", { class: "hint quiet" }, t("about")));
    const word = state.words.at(-1);
    show(h("h2", {}, word), waiting());
    const found = await app.data.word(word);
    const total = found.occurrences.reduce((a, b) => a + b, 0), here = app.data.pointsOf(word).length;
    const senses = app.senses?.word === word ? this.senseList(app.senses) : null;
    const button = senses ? null : h("button", { type: "button", class: "primary", id: "find-senses", onclick: () => app.findSenses(word) }, t("findSenses"));
    show(h("h2", {}, word), h("p", { class: "quiet" }, t("ofpoints", { n: here, m: total })), button, senses, h("h3", {}, t("sentences")), kwicList(app, found.data));
  }

  senseList(found) {
    const { app } = this, { t } = app, colours = palette(app.theme);
    if (found.pending) return h("div", {}, h("p", { class: "quiet" }, t("findingSenses")), waiting());
    if (found.error) return h("p", { class: "hint" }, found.error === "static" ? t("onlyServed") : t("failed", { e: found.error }));
    const told = found.senses.length === 1 ? t("oneSense") : t("senses", { n: found.senses.length });
    const note = found.silhouette === null ? null : h("p", { class: "quiet" }, t("silhouette", { a: found.silhouette.toFixed(2), b: found.by_chance.toFixed(2) }));
    return h("section", { class: "senses" }, h("h3", {}, told), note, found.senses.map((sense, number) => h("article", { style: { "borderColor": colours[brightColour(number)] } },
      h("header", {},
        h("button", { type: "button", class: "dot", "aria-label": `${number + 1}`, style: { background: colours[brightColour(number)] }, onclick: () => app.showPoints(found.points.filter((_, place) => found.assigned[place] === number)) }),
        h("b", {}, sense.labels.slice(0, 6).join(", ")), h("span", { class: "share" }, `${Math.round(100 * sense.share)}%`)),
      h("div", { class: "meter" }, h("div", { style: { width: `${100 * sense.share}%`, background: colours[brightColour(number)] } })),
      kwicList(app, sense.examples))));
  }

  async selection(show) {
    const { app } = this, { t } = app, points = app.selected;
    if (!points.length) return show(h("p", { class: "hint" }, t("noSelection")));
    const head = h("header", { class: "row" }, h("h2", {}, t("selected", { n: points.length })), h("button", { type: "button", class: "small", id: "clear-selection", onclick: () => app.set({ lasso: null, point: null }) }, t("clear")));
    show(head, waiting());
    const found = await app.data.group(points);
    const most = found.words[0]?.points ?? 1;
    show(head,
      found.typical.length && [h("h3", {}, t("typical")), h("p", { class: "chips typical" }, found.typical.map((word) => h("button", { type: "button", onclick: () => app.addWord(word) }, word)))],
      h("h3", {}, t("more")),
      h("p", { class: "chips counted" }, found.words.slice(0, 24).map(({ word, points: count }) => h("button", { type: "button", style: { opacity: 0.55 + 0.45 * (count / most) }, onclick: () => app.addWord(word) }, word, h("small", {}, String(count))))),
      h("h3", {}, t("sentences")), kwicList(app, found.data));
  }

  async sentence(show) {
    const { app } = this, { t, state } = app;
    if (!app.data.live) return show(h("p", { class: "hint" }, t("onlyServed")));
    const field = h("textarea", { id: "sentence", rows: "3", placeholder: t("sentenceExample"), "aria-label": t("tabSentence") });
    field.value = state.text;
    const go = () => app.set({ text: field.value.trim() || t("sentenceExample"), at: null });
    field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); go(); } });
    const form = [h("p", { class: "hint" }, t("sentenceHint")), field, h("button", { type: "button", class: "primary", id: "split-sentence", onclick: go }, t("go"))];
    if (!state.text) return show(form);
    const tokens = await app.tokens(state.text);
    const words = h("p", { class: "tokens" }, tokens.map((token, place) => h("button", { type: "button", "aria-pressed": String(place === state.at), onclick: () => app.set({ at: place }) }, token)));
    if (state.at === null || state.at >= tokens.length) return show(form, words);
    show(form, words, waiting());
    const [near, fitting] = await Promise.all([app.findNearest(tokens, state.at), app.data.substitutes(tokens, state.at).catch(() => null)]);
    return show(form, words,
      fitting && [h("h3", {}, t("substitutes")), h("p", { class: "chips typical" }, fitting.data.map(({ word }) => h("button", { type: "button", onclick: () => app.addWord(word) }, word)))],
      h("h3", {}, t("nearest")), kwicList(app, near.data, { similarity: true }));
  }

  async compare(show) {
    const { app } = this, { t, state } = app, { facts } = app.data;
    const kinds = [["", "off"], ["layer", "byLayer"], ["words", "byWords"], ...(facts.corpora.length > 1 ? [["corpora", "byCorpora"]] : [])];
    const choice = h("div", { class: "segments wide", role: "radiogroup" }, kinds.map(([kind, name]) => h("button", {
      type: "button", role: "radio", id: `split-${kind || "off"}`, "aria-checked": String(state.split === kind), onclick: () => app.set({ split: kind }),
    }, t(name))));
    const parts = [h("p", { class: "hint" }, t("compareHint")), choice];
    if (state.split === "layer") {
      for (const side of ["layer", "right"]) parts.push(h("h3", {}, t(side === "layer" ? "left" : "right")), app.layerButtons(side));
    }
    const two = state.split === "words", texts = state.split === "corpora";
    if (!two && !texts) return show(parts);
    if (two && state.words.length < 2) return show(parts, h("p", { class: "hint" }, t("needTwoWords")));
    if (texts && !state.words.length) return show(parts, h("p", { class: "hint" }, t("needWord")));
    if (!app.data.live) return show(parts, h("p", { class: "hint" }, t("onlyServed")));
    show(parts, waiting());
    const found = await app.data.compare(...(two ? state.words.slice(-2) : [state.words.at(-1)]));
    const figure = (name, value) => h("div", { class: "figure" }, h("b", {}, value.toFixed(3)), h("span", {}, t(name)));
    return show(parts, h("div", { class: "figures" }, figure("apd", found.apd), figure("prt", found.prt)), found.sides.map((side) => [
      h("h3", {}, t("mostTypical", { w: texts ? `${side.word} · ${facts.corpora[side.corpus].name}` : side.word })),
      h("p", { class: "chips typical" }, side.typical.map((word) => h("span", {}, word))),
      kwicList(app, side.data)]).flat());
  }
}

export function waiting() { return h("div", { class: "spinner small" }); }
