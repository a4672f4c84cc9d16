// Makes parts of the pages' site:
//   node make.mjs editor FOLDER             what the playground's editor is made of, in one file
//   node make.mjs docs REPOSITORY FOLDER    the documentation
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { bundle } from "./bundle.mjs";

const [what, ...places] = process.argv.slice(2);

async function docs(repository, folder) {
  const { makeDocs } = await import("./docs.mjs");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const contents = JSON.parse(await readFile("contents.json", "utf8"));
  await makeDocs(repository, folder, contents);
  await bundle("search.js", folder);
  const styles = ["docs.css", "style.css", "code.css"];
  await Promise.all(styles.map((name) => cp(name, path.join(folder, name))));
}

try {
  if (what === "editor") await bundle("codemirror.js", places[0]);
  else if (what === "docs") await docs(...places);
  else throw new Error("make.mjs makes `editor` and `docs`");
} catch (error) {
  console.error(`make.mjs: ${error.message}`);
  process.exitCode = 1;
}
