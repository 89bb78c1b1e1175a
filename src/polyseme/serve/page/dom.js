// Elements without a framework: h("button", {class: "x", onclick: f}, "text", child).

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) key.startsWith("--") ? element.style.setProperty(key, one) : (element.style[key] = one);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SHAPES = {
  lasso: "M7 18c-3-1-5-4-5-7 0-5 4.500-8 10-8s10 3 10 7-4 7-9 7c-3 0-6-1-6-3s3-2 4 0-1 5-4 7",
  view: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  home: "M3 11l9-8 9 8M6 9.500V20h12V9.500",
  split: "M4 4h16v16H4zM12 4v16",
  save: "M12 3v12M7 11l5 5 5-5M4 20h16",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M19 5l-1.500 1.500M6.500 17.500L5 19",
  moon: "M20 14.500A8.500 8.500 0 1 1 9.500 4a7 7 0 0 0 10.500 10.500z",
  help: "M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18v.01",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13M15.500 15.500L21 21",
  close: "M6 6l12 12M18 6L6 18",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

// Tokens as people write them: no space before marks, none between Chinese or Japanese words.
const CLOSING = /^(?:[.,;:!?%)\]}’”»]|'s|n't|'re|'ve|'ll|'d|'m|''|[，。！？；：、）》】」』…])/;
const OPENING = /[([{‘“«（《【「『]$|^``$/;
const EAST = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]/u;

export function joined(tokens) {
  let text = "";
  tokens.forEach((token, place) => {
    const before = place ? tokens[place - 1] : "";
    const glued = !place || CLOSING.test(token) || OPENING.test(before) || EAST.test(before.slice(-1)) || EAST.test(token[0]);
    text += glued ? token : ` ${token}`;
  });
  return text;
}

export function download(name, content, type) {
  const link = h("a", { href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
