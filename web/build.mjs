// Builds the page into internal/web/dist. The output depends only on the sources and on
// package-lock.json: every build yields the same bytes.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const out = new URL("../internal/web/dist/", import.meta.url).pathname;
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
for (const file of ["index.html", "icon.svg"]) copyFileSync(new URL(`src/${file}`, import.meta.url), out + file);

// The licences of the packages in the bundle.
const licences = ["preact", "uplot"].map((name) => {
  const text = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf8");
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8"));
  return `${name} ${version}\n\n${text.trim()}\n`;
});
writeFileSync(out + "licences.txt", licences.join("\n"));
