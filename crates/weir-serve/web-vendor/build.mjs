// Writes the third-party files of the page, and their manifest, out of installed packages:
//   node build.mjs OUT_PAGE OUT_TEST
// `cargo xtask web-vendor` installs the packages by package-lock.json, which has a hash of each, and runs this.

import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [page, test] = process.argv.slice(2);
const modules = "node_modules";
const read = (...parts) => readFileSync(join(...parts), "utf8");
const about = (name) => JSON.parse(read(modules, name, "package.json"));

mkdirSync(page, { recursive: true });
mkdirSync(test, { recursive: true });

// The bundle: one module, with what each package says of its licence at its head.
const bundle = join(page, "codemirror.js");
const meta = join(modules, ".bundle.json");
execFileSync(join(modules, ".bin", "esbuild"), [
  "codemirror.js", "--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8",
  "--legal-comments=none", "--log-level=warning", `--metafile=${meta}`, `--outfile=${bundle}`,
  "--banner:js=/* CodeMirror 6 and Lezer, MIT licence: see LICENSES.txt and manifest.json */",
], { stdio: "inherit" });
const bundled = [...new Set(Object.keys(JSON.parse(read(meta)).inputs)
  .map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
  .filter(Boolean))].sort();

execFileSync(join(modules, ".bin", "esbuild"), [
  join(modules, "uplot/dist/uPlot.esm.js"), "--minify", "--format=esm", "--target=es2022", "--charset=utf8",
  "--legal-comments=none", "--log-level=warning", `--outfile=${join(page, "uPlot.js")}`,
  "--banner:js=/* uPlot, MIT licence: see LICENSES.txt and manifest.json */",
], { stdio: "inherit" });
copyFileSync(join(modules, "uplot/dist/uPlot.min.css"), join(page, "uPlot.css"));
copyFileSync(join(modules, "axe-core/axe.min.js"), join(test, "axe.min.js"));

function licence(name) {
  const file = readdirSync(join(modules, name)).find((entry) => /^licen[sc]e(\.|$)/i.test(entry));
  return `${name} ${about(name).version} (${about(name).license})\n${"=".repeat(72)}\n`
    + (file ? read(modules, name, file).replaceAll("\r\n", "\n").trim() : "No text in the package.") + "\n";
}

const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const part = (name) => ({ name, version: about(name).version, licence: about(name).license });
const file = (folder, name, how, packages) => ({
  file: name, sha256: sha256(join(folder, name)), bytes: readFileSync(join(folder, name)).length, how,
  packages: packages.map(part),
});

function finish(folder, packages, files) {
  writeFileSync(join(folder, "LICENSES.txt"), packages.map(licence).join("\n\n"));
  files.push({ file: "LICENSES.txt", sha256: sha256(join(folder, "LICENSES.txt")), how: "the licence of each package" });
  const manifest = { about: "Files of others, written by cargo xtask web-vendor; edit none of them.", files };
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest, null, 1) + "\n");
}

const esbuild = `esbuild ${about("esbuild").version} --bundle --minify --format=esm --target=es2022 of codemirror.js`;
finish(page, [...bundled, "uplot"], [
  file(page, "codemirror.js", esbuild, bundled),
  file(page, "uPlot.js", `esbuild ${about("esbuild").version} --minify of dist/uPlot.esm.js`, ["uplot"]),
  file(page, "uPlot.css", "dist/uPlot.min.css as it is", ["uplot"]),
]);
finish(test, ["axe-core"], [file(test, "axe.min.js", "axe.min.js as it is; for tests only", ["axe-core"])]);
