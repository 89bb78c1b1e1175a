// One map: points drawn by regl-scatterplot, names of words over them, mouse, touch and lasso.
import createScatterplot from "regl-scatterplot";
import { HIDDEN, LIT, looks, palette } from "./colours.js";
import { h } from "./dom.js";
import { placeNames } from "./names.js";

export class Pane {
  constructor(element, app) {
    this.app = app;
    this.element = element;
    this.canvas = h("canvas", { tabindex: "0", role: "img" });
    this.names = h("div", { class: "names", "aria-hidden": "true" });
    this.caption = h("div", { class: "caption" });
    element.append(this.canvas, this.names, this.caption);
    const { width, height } = element.getBoundingClientRect();
    this.plot = createScatterplot({
      canvas: this.canvas, width: Math.max(1, width), height: Math.max(1, height),
      lassoColor: "#4b8bff", lassoMinDelay: 8, lassoMinDist: 3, lassoOnLongPress: false, actionKeyMap: { lasso: "shift" },
      pointOutlineWidth: 2, pointSizeSelected: 3, deselectOnEscape: false, deselectOnDblClick: false,
      spatialIndexUseWorker: false, antiAliasing: 1, pointScaleMode: "asinh",
    });
    this.size = [width, height];
    this.queue = Promise.resolve();
    this.plot.subscribe("pointOver", (point) => this.#visible(point) && app.hover(this, point));
    this.plot.subscribe("pointOut", () => app.hover(this, null));
    this.plot.subscribe("select", ({ points }) => {
      if (this.lassoing || points.length !== 1) return;
      if (this.#visible(points[0])) app.pick(points[0]);
      else this.plot.deselect({ preventEvent: true });
    });
    this.plot.subscribe("lassoStart", () => { this.lassoing = true; });
    this.plot.subscribe("lassoEnd", ({ coordinates }) => {
      this.lassoing = false;
      const flat = coordinates.flat ? coordinates.flat() : coordinates;
      if (flat.length >= 6) app.lassoed(this, flat);
    });
    this.plot.subscribe("view", () => this.#moved());
    new ResizeObserver(() => this.#resized()).observe(element);
    this.#touch();
  }

  // Draws everything again; points move if only their places changed.
  draw({ places, colours, emphasis, moving }) {
    this.queue = this.queue.then(() => this.#draw({ places, colours, emphasis, moving })).catch((error) => console.error(error));
    return this.queue;
  }

  async #draw({ places, colours, emphasis, moving }) {
    const { theme } = this.app;
    const count = colours.length;
    if (this.theme !== theme || this.count !== count) {
      const { opacity, pointSize } = looks(count, theme);
      this.plot.set({
        pointColor: palette(theme), pointColorActive: theme === "dark" ? "#ffffff" : "#101828", pointColorHover: theme === "dark" ? "#ffffff" : "#101828",
        backgroundColor: theme === "dark" ? "#0d1420" : "#fbfaf7", colorBy: "valueA", opacityBy: "valueB", sizeBy: "valueB", opacity, pointSize,
      });
      this.theme = theme;
      this.count = count;
    }
    const shown = new Uint8Array(emphasis);
    const x = new Float32Array(places.x), y = new Float32Array(places.y);
    for (let i = 0; i < count; i++) if (Number.isNaN(x[i])) { x[i] = 0; y[i] = 0; shown[i] = HIDDEN; }
    const same = this.places === places && this.plot.get("isPointsDrawn");
    const options = { zDataType: "categorical", wDataType: "categorical" };
    if (same) options.spatialIndex = this.plot.get("spatialIndex");
    else if (moving && this.places) Object.assign(options, { transition: true, transitionDuration: this.app.still ? 1 : 900 });
    this.emphasis = shown;
    this.names.replaceChildren();
    await this.plot.draw({ x, y, valueA: colours, valueB: shown }, options);
    this.places = places;
    this.colours = colours;
    this.#order(shown);
    this.mark(this.marked ?? []);
    this.#nameSoon(0);
  }

  // Points that stand out are drawn last, over the others.
  #order(shown) {
    const last = [], first = [];
    for (let i = 0; i < shown.length; i++) (shown[i] === LIT ? last : first).push(i);
    const order = last.length && first.length ? first.concat(last) : null;
    if (order || this.ordered) this.plot.set({ pointOrder: order });
    this.ordered = Boolean(order);
  }

  #visible(point) { return this.emphasis && this.emphasis[point] !== HIDDEN; }

  mark(points) {
    this.marked = points;
    if (!this.plot.get("isPointsDrawn")) return;
    const seen = points.filter((point) => this.#visible(point));
    if (seen.length) this.plot.select(seen, { preventEvent: true });
    else this.plot.deselect({ preventEvent: true });
  }

  inside(polygon) {
    const { x, y } = this.places, found = [];
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < polygon.length; i += 2) {
      left = Math.min(left, polygon[i]); right = Math.max(right, polygon[i]);
      low = Math.min(low, polygon[i + 1]); high = Math.max(high, polygon[i + 1]);
    }
    for (let i = 0; i < x.length; i++) {
      if (x[i] < left || x[i] > right || y[i] < low || y[i] > high || !this.#visible(i)) continue;
      let within = false;
      for (let a = 0, b = polygon.length - 2; a < polygon.length; b = a, a += 2) {
        const crosses = polygon[a + 1] > y[i] !== polygon[b + 1] > y[i];
        if (crosses && x[i] < ((polygon[b] - polygon[a]) * (y[i] - polygon[a + 1])) / (polygon[b + 1] - polygon[a + 1]) + polygon[a]) within = !within;
      }
      if (within) found.push(i);
    }
    return found;
  }

  // Where places of the map are on the screen: the height of the pane shows from -1 to 1 if nothing is enlarged.
  projection() {
    const [dx, dy, zoom] = this.view(), [width, height] = this.size, ratio = width / height;
    return {
      x: (value) => (1 + (zoom * value + dx) / ratio) * width / 2,
      y: (value) => (1 - (zoom * value + dy)) * height / 2,
      frame: [(-ratio - dx) / zoom, (-1 - dy) / zoom, (ratio - dx) / zoom, (1 - dy) / zoom],
    };
  }

  frame() {
    const [left, low, right, high] = this.projection().frame;
    return [left, low, right, low, right, high, left, high];
  }

  screen(point) {
    const { x, y } = this.projection();
    return [x(this.places.x[point]), y(this.places.y[point])];
  }

  // The view as the middle and the enlargement, which do not depend on the size of the window.
  view() {
    const matrix = this.plot.get("cameraView");
    return [matrix[12], matrix[13], matrix[0]];
  }

  look([x, y, zoom], silent = false) {
    const matrix = new Float32Array([zoom, 0, 0, 0, 0, zoom, 0, 0, 0, 0, 1, 0, x, y, 0, 1]);
    this.plot.view(matrix, { preventEvent: silent });
    if (silent) this.#nameSoon(60); // nobody is told, but the names have to follow
  }

  // The whole map, also where the pane is higher than it is wide.
  whole(silent) { this.look([0, 0, Math.min(1, this.size[0] / this.size[1])], silent); }

  move(dx, dy) {
    const [x, y, zoom] = this.view();
    this.look([x + dx, y + dy, zoom]);
  }

  zoom(by, at = [0, 0]) {
    const [x, y, zoom] = this.view();
    const next = Math.min(400, Math.max(0.3, zoom * by)), share = next / zoom;
    this.look([at[0] + (x - at[0]) * share, at[1] + (y - at[1]) * share, next]);
  }

  show(points) {
    const seen = points.filter((point) => this.#visible(point));
    if (seen.length) this.plot.zoomToPoints(seen, { padding: 0.6, transition: !this.app.still, transitionDuration: 500 });
  }

  setLasso(on) {
    this.plot.set({ mouseMode: on ? "lasso" : "panZoom" });
    this.element.classList.toggle("lassoing", on);
  }

  #moved() {
    this.#nameSoon(90);
    this.app.moved(this);
  }

  #nameSoon(wait) {
    this.names.classList.add("stale");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.places || !this.emphasis) return;
      placeNames(this);
      this.names.classList.remove("stale");
    }, wait);
  }

  #resized() {
    const { width, height } = this.element.getBoundingClientRect();
    if (width < 2 || height < 2 || (width === this.size[0] && height === this.size[1])) return;
    this.size = [width, height];
    this.plot.set({ width, height });
    if (!this.app.state.view) this.whole(true);
    this.#nameSoon(60);
  }

  // One finger moves the map, two enlarge it, a touch reads a point. The drawing library knows only the mouse.
  #touch() {
    const at = (touch) => {
      const box = this.canvas.getBoundingClientRect();
      const ratio = box.width / box.height;
      return [((touch.clientX - box.left) / box.width * 2 - 1) * ratio, 1 - (touch.clientY - box.top) / box.height * 2];
    };
    let before = null;
    this.canvas.addEventListener("touchstart", (event) => {
      if (this.app.lassoOn) return;
      before = [...event.touches].map(at);
    }, { passive: true });
    this.canvas.addEventListener("touchmove", (event) => {
      if (this.app.lassoOn || !before) return;
      event.preventDefault();
      const now = [...event.touches].map(at);
      if (now.length === 1 && before.length === 1) this.move(now[0][0] - before[0][0], now[0][1] - before[0][1]);
      else if (now.length === 2 && before.length === 2) {
        const far = (pair) => Math.hypot(pair[0][0] - pair[1][0], pair[0][1] - pair[1][1]);
        const middle = (pair) => [(pair[0][0] + pair[1][0]) / 2, (pair[0][1] + pair[1][1]) / 2];
        this.zoom(far(now) / Math.max(1e-6, far(before)), middle(now));
      }
      before = now;
    }, { passive: false });
  }
}
