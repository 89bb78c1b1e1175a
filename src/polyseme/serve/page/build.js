// Builds the page: `npm install && npm run build` writes ../static/explore.{html,css,js} and the licences of what is in it.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const OUT = "../static";
// The test of the built page computes the same digest, to see whether it was built from these sources.
const sources = readdirSync(".").filter((name) => /\.(js|css|html|json)$/.test(name)).sort();
const digest = createHash("sha256");
for (const name of sources) digest.update(name + "\0").update(readFileSync(name)).update("\0");
const stamp = `sources ${digest.digest("hex")}`;

await build({
  entryPoints: ["main.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outfile: `${OUT}/explore.js`,
  banner: { js: `/* ${stamp}; licences: explore.licenses.txt */` },
});
// A message of the drawing library names a web page; the page here knows no address but its own.
const script = readFileSync(`${OUT}/explore.js`, "utf8");
writeFileSync(`${OUT}/explore.js`, script.replaceAll(/https:\/\/[a-z.]+\/package\/(glsl-read-float)/g, "$1"));
await build({
  entryPoints: ["style.css"],
  minify: true,
  outfile: `${OUT}/explore.css`,
  banner: { css: `/* ${stamp} */` },
});
writeFileSync(`${OUT}/explore.html`, readFileSync("index.html", "utf8"));

// The drawing library is built with its own dependencies inside, so all that is installed beside the builder counts.
const folders = readdirSync("node_modules").filter((name) => !/^\.|esbuild/.test(name));
const inside = folders.flatMap((name) => (name.startsWith("@") ? readdirSync(`node_modules/${name}`).map((one) => `${name}/${one}`) : [name]));
const notices = inside.sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((one) => `node_modules/${name}/${one}`).find(existsSync);
  return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : ""}\n`;
});
writeFileSync(`${OUT}/explore.licenses.txt`, `What explore.js contains beside polyseme:\n\n${notices.join("\n---\n\n")}`);
