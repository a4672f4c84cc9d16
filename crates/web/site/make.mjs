// Makes parts of the pages' site:
//   node make.mjs editor FOLDER    what the playground's editor is made of, in one file
import { bundle } from "./bundle.mjs";

const [what, folder] = process.argv.slice(2);

try {
  if (what !== "editor") throw new Error("make.mjs makes `editor`");
  await bundle("codemirror.js", folder);
} catch (error) {
  console.error(`make.mjs: ${error.message}`);
  process.exitCode = 1;
}
