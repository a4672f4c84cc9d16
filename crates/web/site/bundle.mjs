// Puts what a page uses of npm's packages into one file. Next to it go the licences of the packages
// that are in it. One that deny.toml does not allow is refused.
import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

/** The licences that deny.toml allows. */
async function allowed() {
  const policy = await readFile("deny.toml", "utf8");
  const [, list] = /\nallow = \[([^\]]*)\]/.exec(policy);
  return [...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name);
}

/** The notices of the packages that these files are from. */
async function notices(files) {
  const folders = new Set(files.map((file) => PACKAGE.exec(file)?.[0]).filter(Boolean));
  const right = await allowed();
  const texts = [...folders].sort().map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    if (!right.includes(license)) throw new Error(`deny.toml does not allow ${license} of ${name}`);
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    return `${name} ${version}, ${license}\n\n${await readFile(path.join(folder, file), "utf8")}`;
  });
  return (await Promise.all(texts)).join("\n----\n\n");
}

/** Bundles a module into a file of this folder, with a file of licences next to it. */
export async function bundle(entry, folder) {
  const outfile = path.join(folder, entry);
  const { metafile } = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    metafile: true,
    logLevel: "warning",
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  const files = Object.keys(inputs).filter((file) => inputs[file].bytesInOutput > 0);
  await writeFile(outfile.replace(/\.js$/, "-licences.txt"), await notices(files));
}
