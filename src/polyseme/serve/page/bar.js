// The bar above the map, and what lies over the map: legend, tip, messages, menus.
import { palette } from "./colours.js";
import { h, icon } from "./dom.js";
import { saveData, savePicture, saveTable } from "./saving.js";

const SUGGESTED = 8;

export class Bar {
  constructor(element, over, app) {
    this.app = app;
    this.input = h("input", { id: "word", type: "search", autocomplete: "off", spellcheck: "false", role: "combobox", "aria-expanded": "false", "aria-controls": "suggestions", oninput: () => this.#suggest(), onkeydown: (event) => this.#typed(event), onblur: () => setTimeout(() => this.#hide(), 150) });
    this.suggestions = h("ul", { id: "suggestions", role: "listbox", hidden: true });
    this.chips = h("div", { id: "chips" });
    this.layerBox = h("div", { class: "field" });
    this.colourBox = h("div", { class: "field" });
    this.tools = h("div", { id: "tools" });
    this.brand = h("div", { class: "brand" });
    element.append(this.brand, h("div", { id: "search", role: "search" }, icon("search"), this.chips, this.input, this.suggestions), this.layerBox, this.colourBox, this.tools);
    this.legendBox = h("div", { id: "legend" });
    this.tipBox = h("div", { id: "tip", role: "tooltip", hidden: true });
    this.ringBox = h("div", { id: "ring", hidden: true });
    this.message = h("div", { id: "message", role: "status", "aria-live": "polite" });
    this.menu = h("div", { id: "menu", role: "menu", hidden: true });
    over.append(this.legendBox, this.ringBox, this.tipBox, this.message, this.menu);
    document.addEventListener("pointerdown", (event) => { if (!this.menu.hidden && !this.menu.contains(event.target) && !event.target.closest("#tools")) this.menu.hidden = true; });
  }

  draw() {
    const { app } = this, { t, state, data } = app;
    const names = data.facts.corpora.map(({ name }) => name).join(" · ");
    document.title = `${state.words.join(", ") || names} — polyseme`;
    this.brand.replaceChildren(h("b", {}, "polyseme"), h("span", { title: data.facts.model }, names, h("small", {}, t("points", { n: data.count }))));
    this.input.placeholder = state.words.length ? "" : t("search");
    this.input.setAttribute("aria-label", t("search"));
    const colours = palette(app.theme);
    this.chips.replaceChildren(...state.words.map((word, number) => h("span", { class: "chip", style: { "--colour": colours[1 + (number % 12)] } },
      h("button", { type: "button", onclick: () => app.addWord(word) }, word),
      h("button", { type: "button", class: "x", "aria-label": `${t("clear")} ${word}`, onclick: () => app.set({ words: state.words.filter((one) => one !== word) }) }, "×"))));
    this.layerBox.replaceChildren(h("span", {}, t("layer")), this.layers("layer"));
    const kinds = ["word", "sense", ...(data.facts.documents.length > 1 ? ["document"] : []), ...(data.facts.labels ? ["label"] : []), ...(data.facts.corpora.length > 1 ? ["corpus"] : [])];
    this.kinds = kinds;
    this.colourBox.replaceChildren(h("span", {}, t("colour")), h("div", { class: "segments", role: "radiogroup", "aria-label": t("colour") }, kinds.map((kind) => h("button", {
      type: "button", role: "radio", id: `colour-${kind}`, "aria-checked": String(state.colour === kind), onclick: () => app.set({ colour: kind }),
    }, kind === "label" && data.facts.labels.title !== "label" ? data.facts.labels.title : t(kind)))));
    const tool = (name, key, act, on) => h("button", { type: "button", id: name, title: t(key), "aria-label": t(key), "aria-pressed": on === undefined ? null : String(on), onclick: act }, icon(name));
    this.tools.replaceChildren(
      tool("lasso", "lasso", () => app.setLasso(!app.lassoOn), app.lassoOn), tool("view", "view", () => app.selectView()), tool("home", "home", () => this.home()),
      tool("split", "split", () => this.split(), Boolean(state.split)), tool("save", "save", () => this.saveMenu()),
      h("button", { type: "button", id: "theme", title: t(app.theme === "dark" ? "light" : "dark"), "aria-label": t(app.theme === "dark" ? "light" : "dark"), onclick: () => this.theme() }, icon(app.theme === "dark" ? "sun" : "moon")),
      h("button", { type: "button", id: "language", lang: app.language === "zh" ? "en" : "zh", onclick: () => app.set({ lang: app.language === "zh" ? "en" : "zh" }) }, t("language")),
      tool("help", "help", () => this.helpMenu()));
  }

  layers(side) {
    const { app } = this, { t } = app;
    return h("div", { class: "segments", role: "radiogroup", "aria-label": t("layer") }, app.data.facts.layers.map((name) => h("button", {
      type: "button", role: "radio", id: `${side}-${name}`, "aria-checked": String(app.state[side] === name), title: t(/^\d+$/.test(name) ? (name === "0" ? "layer0" : "layerN") : `layer${name}`, { n: name }),
      onclick: () => app.set({ [side]: name }),
    }, /^\d+$/.test(name) ? name : t(name))));
  }

  drawLegend() {
    const colours = palette(this.app.theme);
    this.legendBox.replaceChildren(...this.app.legend.map(({ colour, name }) => h("div", {}, h("i", { style: { background: colours[colour] } }), name || this.app.t("unknown"))));
  }

  home() { this.app.set({ view: null }); for (const pane of this.app.panes) pane.whole(); }
  theme() { this.app.set({ theme: this.app.theme === "dark" ? "light" : "dark" }); }

  split() {
    const { state, data } = this.app;
    this.app.set({ split: state.split ? "" : data.facts.corpora.length > 1 ? "corpora" : state.words.length > 1 ? "words" : "layer", tab: "compare" });
  }

  say(text) {
    this.message.textContent = text;
    this.message.classList.add("shown");
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.message.classList.remove("shown"), 3500);
  }

  tip(shown) {
    this.tipBox.hidden = !shown;
    if (!shown) return;
    const { pane, point, text, place } = shown;
    this.tipBox.replaceChildren(h("p", {}, `${text[0]} `, h("b", {}, text[1]), ` ${text[2]}`), place ? h("p", { class: "source" }, place) : "");
    const [x, y] = pane.screen(point), [width, height] = pane.size;
    const box = this.tipBox.getBoundingClientRect();
    const left = Math.min(Math.max(8, x - box.width / 2), width - box.width - 8) + pane.element.offsetLeft;
    this.tipBox.style.left = `${Math.max(8, left)}px`;
    this.tipBox.style.top = `${y + box.height + 24 < height ? y + 14 : y - box.height - 14}px`;
  }

  // A ring around the point of the sentence that one looks at in the panel.
  ring(point) {
    const pane = this.app.panes[0];
    this.ringBox.hidden = point === null || !pane.places;
    if (this.ringBox.hidden) return;
    const [x, y] = pane.screen(point);
    Object.assign(this.ringBox.style, { left: `${x}px`, top: `${y}px` });
  }

  saveMenu() {
    const { app } = this, { t } = app;
    const item = (key, act) => h("button", { type: "button", role: "menuitem", id: `save-${key}`, onclick: async () => { this.menu.hidden = true; try { await act(); } catch (error) { this.say(t("failed", { e: error.message })); } } }, t(key));
    this.#open([item("png", () => savePicture(app)), item("csv", async () => this.say(t("exported", { n: await saveTable(app) }))), item("json", async () => this.say(t("exported", { n: await saveData(app) }))),
      item("link", async () => { await navigator.clipboard.writeText(location.href); this.say(t("copied")); })]);
  }

  helpMenu() {
    const { t } = this.app;
    this.#open([h("p", {}, t("about")), h("h3", {}, t("helpTitle")), h("dl", {}, t("keys").map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]).flat())]);
  }

  #open(children) {
    const same = !this.menu.hidden && this.menu.children.length === children.length;
    this.menu.replaceChildren(...children);
    this.menu.hidden = same;
    this.menu.querySelector("button")?.focus();
  }

  #suggest() {
    const typed = this.input.value.trim().toLowerCase();
    const found = typed ? [...this.app.data.byFold.keys()].filter((word) => word.startsWith(typed)).slice(0, SUGGESTED) : [];
    this.suggestions.replaceChildren(...found.map((word) => h("li", { role: "option", onpointerdown: (event) => { event.preventDefault(); this.#add(word); } }, word)));
    this.suggestions.hidden = !found.length;
    this.input.setAttribute("aria-expanded", String(Boolean(found.length)));
    this.at = -1;
  }

  #typed(event) {
    const items = [...this.suggestions.children];
    if (event.key === "Enter") this.#add(items[this.at]?.textContent ?? this.input.value.trim());
    else if (event.key === "Escape") { this.input.value = ""; this.#hide(); this.input.blur(); } else if (event.key === "Backspace" && !this.input.value) this.app.set({ words: this.app.state.words.slice(0, -1) });
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.at = (this.at + (event.key === "ArrowDown" ? 1 : -1) + items.length + 1) % (items.length + 1);
      items.forEach((item, place) => item.setAttribute("aria-selected", String(place === this.at)));
    }
    event.stopPropagation();
  }

  #add(word) {
    this.input.value = "";
    this.#hide();
    if (word) this.app.addWord(word);
  }

  #hide() {
    this.suggestions.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}
