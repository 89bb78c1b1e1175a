// What the page knows: from the server that it came from, or from within its own file.

const KINDS = { uint8: Uint8Array, uint32: Uint32Array, float32: Float32Array };

export async function openData() {
  const held = document.getElementById("embedded");
  return held ? new Embedded(JSON.parse(held.textContent)) : Served.open();
}

class Data {
  constructor(facts) {
    this.facts = facts;
    this.count = facts.points;
    this.byFold = new Map(); // a word without letter case -> numbers of words
    facts.words.forEach((word, number) => {
      const fold = word.toLowerCase();
      if (!this.byFold.has(fold)) this.byFold.set(fold, []);
      this.byFold.get(fold).push(number);
    });
  }

  async load(names) {
    for (const name of names) this[name] ??= await this.array(name);
  }

  async layer(name) {
    this.layers ??= new Map();
    if (!this.layers.has(name)) {
      const both = await this.array(`layer-${name}`);
      const x = new Float32Array(this.count), y = new Float32Array(this.count);
      for (let i = 0; i < this.count; i++) { x[i] = both[2 * i]; y[i] = both[2 * i + 1]; }
      this.layers.set(name, { x, y });
    }
    return this.layers.get(name);
  }

  pointsOf(word, corpus = null) {
    const numbers = new Set(this.byFold.get(word.toLowerCase()) ?? []);
    const found = [];
    if (numbers.size) for (let i = 0; i < this.count; i++) {
      if (numbers.has(this.words[i]) && (corpus === null || this.corpora[i] === corpus)) found.push(i);
    }
    return found;
  }
}

class Served extends Data {
  static async open() {
    return new Served(await answer(await fetch("/explore/map")));
  }

  async array(name) {
    const got = await fetch(`/explore/arrays/${name}`);
    if (!got.ok) await answer(got);
    return new KINDS[this.facts.arrays[name]](await got.arrayBuffer());
  }

  live = true;
  occurrences = (points) => ask("/explore/occurrences", { points });
  group = (points, k = 30) => ask("/explore/group", { points: spread(points, 20_000), k });
  word = (word, k = 60) => ask("/explore/word", { word, k });
  senses = (word, corpus = 0) => ask("/explore/senses", { word, corpus });
  nearest = (sentence, position, corpus, k = 30) => ask("/explore/nearest", { sentence, position, corpus, k });
  substitutes = (sentence, position) => ask("/substitutes", { sentence, position, k: 12 });
  compare = (word, other) => ask("/explore/compare", other ? { word, other } : { word });
  tokens = async (text) => (await ask("/tokens", { input: text })).data[0].sentences.flat();
}

class Embedded extends Data {
  live = false;

  async array(name) {
    const bytes = Uint8Array.from(atob(this.facts.numbers[name]), (letter) => letter.charCodeAt(0));
    return new KINDS[this.facts.arrays[name]](bytes.buffer);
  }

  #one(point) {
    const [number, position] = this.facts.occurrences[point];
    return { ...this.facts.sentences[number], position, point, corpus: this.corpora[point], word: this.facts.words[this.words[point]] };
  }

  async occurrences(points) { return { data: points.map((point) => this.#one(point)) }; }

  async group(points, k = 30) {
    const counts = new Map();
    for (const point of points) counts.set(this.words[point], (counts.get(this.words[point]) ?? 0) + 1);
    const words = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 50);
    return {
      points: points.length,
      words: words.map(([number, count]) => ({ word: this.facts.words[number], points: count })),
      typical: [],
      data: spread(points, k).map((point) => this.#one(point)),
    };
  }

  async word(word, k = 60) {
    const points = this.pointsOf(word);
    if (!points.length) throw new Error(`${word}: 0`);
    return { word, occurrences: [points.length], data: spread(points, k).map((point) => this.#one(point)) };
  }

  async senses(word) {
    const found = Object.entries(this.facts.senses).find(([name]) => name.toLowerCase() === word.toLowerCase());
    if (!found) throw new Error("static");
    return found[1];
  }
}

export function spread(points, most) {
  if (points.length <= most) return Array.from(points);
  return Array.from({ length: most }, (_, place) => points[Math.floor(place * points.length / most)]);
}

async function ask(path, body) {
  return answer(await fetch(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } }));
}

async function answer(got) {
  const record = await got.json();
  if (!got.ok) throw new Error(record.error?.message ?? got.statusText);
  return record;
}
