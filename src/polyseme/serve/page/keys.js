// Everything can be done from the keyboard.

const LAYERS = { m: "mean", g: "static" };
const STEP = 0.12;

export function listenToKeys(app) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const { state, bar, panes } = app;
    const move = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    const layer = LAYERS[event.key.toLowerCase()] ?? event.key;
    const act = {
      "/": () => bar.input.focus(),
      "?": () => bar.helpMenu(),
      "+": () => panes[0].zoom(1.3),
      "=": () => panes[0].zoom(1.3),
      "-": () => panes[0].zoom(1 / 1.3),
      l: () => app.setLasso(!app.lassoOn),
      s: () => app.selectView(),
      h: () => bar.home(),
      b: () => bar.split(),
      e: () => bar.saveMenu(),
      t: () => bar.theme(),
      c: () => app.set({ colour: bar.kinds[(bar.kinds.indexOf(state.colour) + 1) % bar.kinds.length] }),
      Escape: () => escape(app),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (move && !event.target.closest("#panel, #bar")) panes[0].move(...move);
    else if (app.data.facts.layers.includes(layer)) app.set({ layer });
    else if (act) act();
    else return;
    event.preventDefault();
  });
}

function escape(app) {
  if (!app.bar.menu.hidden) app.bar.menu.hidden = true;
  else if (app.lassoOn) app.setLasso(false);
  else if (app.selected.length) app.set({ lasso: null, point: null });
  else app.set({ words: [] });
}
