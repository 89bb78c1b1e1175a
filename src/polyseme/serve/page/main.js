// The explorer: what is shown follows from the state, which is kept in the address.
import { Bar } from "./bar.js";
import { DIM, HIDDEN, LIT, NORMAL, brightColour, softColour } from "./colours.js";
import { openData } from "./data.js";
import { h, joined } from "./dom.js";
import { listenToKeys } from "./keys.js";
import { place } from "./kwic.js";
import { Pane } from "./pane.js";
import { Panel } from "./panel.js";
import { readAddress, writeAddress } from "./state.js";
import { translator } from "./strings.js";

const NAMED = 12; // documents or labels that have a colour of their own

class App {
  state = readAddress();
  panes = [];
  selected = [];
  legend = [];
  senses = null;
  near = null;
  lassoOn = false;
  still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  get theme() {
    return this.state.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  get language() {
    return this.state.lang || (navigator.language.startsWith("zh") ? "zh" : "en");
  }

  async start() {
    this.t = translator(this.language);
    document.documentElement.dataset.theme = this.theme;
    document.querySelector("#loading p").textContent = this.t("loading");
    this.data = await openData();
    await this.data.load(["corpora", "words", "documents", ...(this.data.facts.labels ? ["labels"] : [])]);
    if (!this.data.facts.layers.includes(this.state.layer)) this.state.layer = this.data.facts.own;
    if (!this.data.facts.layers.includes(this.state.right)) this.state.right = this.data.facts.layers.includes("static") ? "static" : this.data.facts.layers[0];
    const maps = document.getElementById("maps");
    for (const name of ["left", "right"]) maps.append(h("div", { class: "pane", id: name, hidden: name === "right" }));
    this.panes = [new Pane(document.getElementById("left"), this)];
    this.bar = new Bar(document.getElementById("bar"), maps, this);
    this.panel = new Panel(document.getElementById("panel"), this);
    listenToKeys(this);
    addEventListener("hashchange", () => this.set(readAddress()));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.set({ theme: this.state.theme }, true));
    if (!this.state.view) this.panes[0].whole(true);
    await this.apply(new Set(Object.keys(this.state)), true);
    document.getElementById("loading").remove();
    document.documentElement.dataset.ready = "true";
  }

  // Every change goes through here.
  set(changes, force = false) {
    const changed = new Set(Object.keys(changes).filter((name) => force || JSON.stringify(this.state[name]) !== JSON.stringify(changes[name])));
    Object.assign(this.state, changes);
    if (!changed.size) return Promise.resolve();
    writeAddress(this.state);
    document.documentElement.dataset.busy = String((this.busy = (this.busy ?? 0) + 1));
    return this.apply(changed).catch((error) => this.bar.say(this.t("failed", { e: error.message }))).finally(() => {
      this.busy--;
      if (this.busy) document.documentElement.dataset.busy = String(this.busy);
      else delete document.documentElement.dataset.busy;
    });
  }

  async apply(changed, first = false) {
    const has = (...names) => names.some((name) => changed.has(name));
    if (has("lang")) this.t = translator(this.language);
    document.documentElement.lang = this.language === "zh" ? "zh-CN" : "en";
    document.documentElement.dataset.theme = this.theme;
    if (has("split")) this.#arrangePanes();
    const word = this.state.words.at(-1);
    if (this.senses && this.senses.word !== word) this.senses = null;
    if (has("words", "colour") && this.state.colour === "sense" && word && !this.senses) this.findSenses(word);
    if (has("tab", "text", "at") && !(this.state.tab === "sentence" && this.state.at !== null)) this.near = null;
    if (has("layer", "right", "colour", "words", "split", "theme", "tab", "at", "text")) await this.drawMaps(!first && has("layer", "right"));
    if (has("view") && this.state.view && (first || !this.moving)) for (const pane of this.panes) pane.look(this.state.view, true);
    if (has("lasso", "point", "layer")) this.#select();
    this.bar.draw();
    const lassoed = has("lasso", "point") && !first;
    if (lassoed && this.selected.length && this.state.tab !== "selection") { this.state.tab = "selection"; writeAddress(this.state); }
    if (first || has("tab", "words", "lang", "text", "at", "split", "theme") || (this.state.tab === "selection" && has("lasso", "point", "layer")) || (this.state.tab === "compare" && has("layer", "right"))) await this.panel.draw();
  }

  #arrangePanes() {
    const right = document.getElementById("right");
    right.hidden = !this.state.split;
    document.getElementById("maps").classList.toggle("two", Boolean(this.state.split));
    if (this.state.split && this.panes.length < 2) {
      this.panes.push(new Pane(right, this));
      if (this.state.view) this.panes[1].look(this.state.view, true);
      else this.panes[1].whole(true);
      this.panes[1].setLasso(this.lassoOn);
    }
  }

  async drawMaps(moving) {
    const shown = this.state.split ? this.panes : this.panes.slice(0, 1);
    this.legend = [];
    await Promise.all(shown.map(async (pane, side) => {
      const layer = side && this.state.split === "layer" ? this.state.right : this.state.layer;
      const places = await this.data.layer(layer);
      const words = this.state.split === "words" ? this.state.words.slice(-2).slice(side, side + 1) : this.state.words;
      pane.caption.textContent = this.#caption(layer, side, words);
      await pane.draw({ places, ...this.#colours(side, words), moving });
    }));
    this.bar.drawLegend();
  }

  #caption(layer, side, words) {
    const about = this.t(/^\d+$/.test(layer) ? (layer === "0" ? "layer0" : "layerN") : `layer${layer}`, { n: layer });
    if (this.state.split === "corpora") return `${this.data.facts.corpora[side].name} · ${about}`;
    if (this.state.split === "words") return `${words[0] ?? "…"} · ${about}`;
    return about;
  }

  // The colour and the emphasis of every point, and the legend that explains them.
  #colours(side, words) {
    const { data, state, near, senses } = this, { facts, count } = data;
    const colours = new Uint8Array(count), emphasis = new Uint8Array(count).fill(NORMAL);
    const legend = [];
    const lit = new Map();
    words.forEach((word, place) => {
      const number = state.words.indexOf(word);
      for (const one of data.byFold.get(word.toLowerCase()) ?? []) lit.set(one, brightColour(number));
      if (state.colour === "word") legend.push({ colour: brightColour(number), name: word, place });
    });
    const by = { document: [data.documents, facts.documents], label: [data.labels, facts.labels?.names], corpus: [data.corpora, facts.corpora.map(({ name }) => name)] }[state.colour];
    if (by?.[1]) {
      const colour = by[1].map(() => 0);
      let next = 0;
      by[1].forEach((name, number) => { if (name && next < NAMED) { colour[number] = brightColour(next++); legend.push({ colour: colour[number], name }); } });
      if (by[1].length > legend.length) legend.push({ colour: 0, name: this.t("other") });
      for (let i = 0; i < count; i++) colours[i] = colour[by[0][i]];
    } else if (state.colour === "word" && !lit.size) for (let i = 0; i < count; i++) colours[i] = softColour(data.words[i]);
    if (lit.size) for (let i = 0; i < count; i++) {
      const colour = lit.get(data.words[i]);
      emphasis[i] = colour === undefined ? DIM : LIT;
      if (state.colour === "word") colours[i] = colour ?? 0;
      else if (state.colour === "sense") colours[i] = 0;
    }
    if (state.colour === "sense") {
      if (senses?.points) {
        emphasis.fill(DIM);
        senses.points.forEach((point, place) => { colours[point] = brightColour(senses.assigned[place]); emphasis[point] = LIT; });
        senses.senses.forEach((sense, number) => legend.push({ colour: brightColour(number), name: sense.labels.slice(0, 3).join(", ") || String(number + 1) }));
      } else legend.push({ colour: 0, name: this.t("senseColour") });
    }
    if (near) {
      emphasis.fill(DIM);
      colours.fill(0);
      for (const { point } of near.data) if (point !== null) { emphasis[point] = LIT; colours[point] = brightColour(2); }
    }
    if (state.split === "corpora") for (let i = 0; i < count; i++) if (data.corpora[i] !== side) emphasis[i] = HIDDEN;
    for (const one of legend) if (!this.legend.some(({ name }) => name === one.name)) this.legend.push(one);
    return { colours, emphasis };
  }

  #select() {
    const { lasso, point } = this.state;
    this.selected = lasso ? this.panes[0].inside(lasso) : point !== null && point < this.data.count ? [point] : [];
    if (lasso && this.side) this.selected = this.panes[1]?.inside(lasso) ?? this.selected;
    for (const pane of this.panes) pane.mark(this.selected);
  }

  lassoed(pane, polygon) {
    this.side = pane === this.panes[1] ? 1 : 0;
    this.set({ lasso: polygon, point: null });
    this.setLasso(false);
  }

  pick(point) { this.set({ point, lasso: null }); }
  selectView() { this.side = 0; this.set({ lasso: this.panes[0].frame(), point: null }); }
  setLasso(on) { this.lassoOn = on; for (const pane of this.panes) pane.setLasso(on); this.bar.draw(); }
  addWord(word) { return this.set({ words: [...this.state.words.filter((one) => one !== word), word].slice(-8), tab: this.state.tab === "compare" ? "compare" : "word" }); }
  focus(point) { for (const pane of this.panes) { pane.mark([point]); pane.show([point]); } }
  showPoints(points) { for (const pane of this.panes) pane.show(points); }
  point(point) { this.bar.ring(point); }
  layerButtons(side) { return this.bar.layers(side); }

  async tokens(text) {
    if (this.cut?.text !== text) this.cut = { text, tokens: await this.data.tokens(text) };
    return this.cut.tokens;
  }

  async findSenses(word) {
    this.senses = { word, pending: true };
    const shown = () => Promise.all([this.drawMaps(false), this.state.tab === "word" ? this.panel.draw() : null]);
    if (this.state.colour !== "sense") { this.state.colour = "sense"; writeAddress(this.state); }
    this.bar.draw();
    shown();
    const corpus = this.data.facts.corpora.length > 1 && !this.data.pointsOf(word, 0).length ? 1 : 0;
    const found = await this.data.senses(word, corpus).catch((error) => ({ error: error.message }));
    if (this.state.words.at(-1) !== word) return;
    this.senses = { ...found, word };
    await shown();
    document.documentElement.dataset.senses = word;
  }

  async findNearest(tokens, position) {
    const key = JSON.stringify([tokens, position]);
    if (this.near?.key !== key) {
      this.near = { key, ...(await this.data.nearest(tokens, position, 0)) };
      await this.drawMaps(false);
    }
    return this.near;
  }

  moved(pane) {
    if (this.moving) return;
    this.moving = true;
    const view = pane.view();
    if (this.state.split) for (const other of this.panes) if (other !== pane) other.look(view, true);
    this.moving = false;
    this.bar.ring(null);
    clearTimeout(this.later);
    this.later = setTimeout(() => { this.state.view = view; writeAddress(this.state); }, 250);
  }

  async hover(pane, point) {
    this.hovered = point;
    if (point === null) return this.bar.tip(null);
    await new Promise((done) => setTimeout(done, 40));
    if (this.hovered !== point) return null;
    const { data: [row] } = await this.data.occurrences([point]).catch(() => ({ data: [] }));
    if (this.hovered !== point || !row) return null;
    const text = [joined(row.sentence.slice(Math.max(0, row.position - 12), row.position)), row.sentence[row.position], joined(row.sentence.slice(row.position + 1, row.position + 13))];
    return this.bar.tip({ pane, point, text, place: place(this, row) });
  }
}

const app = new App();
app.start().catch((error) => {
  document.querySelector("#loading p").textContent = error.message;
  document.querySelector("#loading .spinner")?.remove();
  console.error(error);
});
