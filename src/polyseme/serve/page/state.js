// What the page shows, kept in its address: a link brings somebody else to the same view.

const START = {
  layer: "", right: "", colour: "word", words: [], lasso: null, point: null, tab: "word",
  text: "", at: null, split: "", view: null, lang: "", theme: "",
};
const LISTS = new Set(["words"]);
const NUMBERS = new Set(["lasso", "view"]);
const SINGLE = new Set(["point", "at"]);

export function readAddress() {
  const state = { ...START };
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (!(name in START)) continue;
    if (LISTS.has(name)) state[name] = value.split("|").filter(Boolean).slice(0, 8);
    else if (NUMBERS.has(name)) {
      const numbers = value.split("_").map(Number);
      state[name] = numbers.every(Number.isFinite) && numbers.length ? numbers : null;
    } else if (SINGLE.has(name)) state[name] = /^\d+$/.test(value) ? Number(value) : null;
    else state[name] = value;
  }
  if (state.view?.length !== 3) state.view = null;
  if (state.lasso && (state.lasso.length < 6 || state.lasso.length % 2)) state.lasso = null;
  return state;
}

export function writeAddress(state) {
  const parts = new URLSearchParams();
  for (const [name, start] of Object.entries(START)) {
    const value = state[name];
    if (value === start || value === null || (Array.isArray(value) && !value.length)) continue;
    if (LISTS.has(name)) parts.set(name, value.join("|"));
    else if (NUMBERS.has(name)) parts.set(name, value.map((one) => Number(one.toFixed(4))).join("_"));
    else parts.set(name, value);
  }
  const text = parts.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}
