// The playground's editor, forms, tests of programs and links, in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  PHONE,
  browse,
  editor,
  isAccessible,
  open,
  paste,
  person,
  servePages,
  site,
  stopAll,
  typed,
  until,
} from "./scene.mjs";

let address;
let browser;

before(async () => {
  address = `${await servePages(site)}playground/`;
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await stopAll();
});

const CARS = `parties shop, buyer;

enum Color { Red, Green }

struct Car {
    color: Color,
    price: u16,
}

/// Whether a car is cheap enough.
fn fits(car: Car, most: u16) -> bool {
    car.price <= most
}

main(cars: [Car; ..4] of shop, most: u16 of buyer) -> (count: u4 to buyer) {
    let mut count: u4 = 0;
    for i in 0..4 {
        if i < cars.len && fits(cars.items[i], most) { count += 1; }
    }
    count
}

test "one fits" {
    assert main([Car { color: Color::Red, price: 5 }], 5) == 1;
}

test "none fits" {
    assert main([Car { color: Color::Red, price: 6 }], 5) == 1;
}
`;

/** A page with this program, checked. */
async function withProgram(text, viewport) {
  const page = await open(await person(browser, viewport), address);
  await page.locator("#start:enabled").waitFor();
  await paste(page, text);
  await page.locator("#start:enabled").waitFor();
  return page;
}

/** Puts the cursor before the first place of these letters in the text. */
async function goTo(page, letters) {
  await editor(page).evaluate(async (content, letters) => {
    const { EditorView } = await import("/playground/codemirror.js");
    const view = EditorView.findFromDOM(content);
    view.focus();
    view.dispatch({ selection: { anchor: view.state.doc.toString().indexOf(letters) } });
  }, letters);
}

test("programs are in colour, as the grammar for editors says", async () => {
  const page = await withProgram(CARS);
  const colored = (name) => page.locator(`.cm-line .tok-${name}`).allInnerTexts();
  assert.ok((await colored("keyword")).includes("parties"));
  assert.ok((await colored("typeName")).includes("u16"));
  assert.ok((await colored("definition")).includes("fits"));
  assert.deepEqual(await colored("comment"), ["/// Whether a car is cheap enough."]);
  assert.deepEqual(await colored("string"), ['"one fits"', '"none fits"']);
  await page.context().close();
});

test("names are completed, explained and changed by what Tacit knows", async () => {
  const page = await withProgram(CARS);
  await goTo(page, "fits(cars");
  await page.keyboard.type("fi");
  await page.keyboard.press("Control+Space");
  const completion = page.locator(".cm-tooltip-autocomplete");
  await completion.getByText("fits", { exact: true }).waitFor();
  await completion.getByText("Whether a car is cheap enough.").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+z");
  assert.equal(await typed(page), CARS);
  await page.locator("#start:enabled").waitFor();
  const use = page.locator(".cm-line", { hasText: "if i < cars.len" }).getByText("fits");
  await use.hover();
  const said = page.locator(".cm-hover");
  await said.waitFor();
  assert.match(await said.innerText(), /fn fits\(car: Car, most: u16\) -> bool/);
  assert.match(await said.innerText(), /Type: bool[^]*This line: \d+ AND gates/);
  await goTo(page, "fits(cars");
  await page.keyboard.press("F2");
  await page.getByLabel("New name for fits").fill("is_cheap");
  await page.keyboard.press("Enter");
  const renamed = CARS.replaceAll("fits(", "is_cheap(");
  await until(async () => (await typed(page)) === renamed, "the new name");
  await page.keyboard.press("Control+z");
  assert.equal(await typed(page), CARS);
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("New name for fits").fill("main");
  await page.keyboard.press("Enter");
  await page.getByText("cannot be its name").waitFor();
  assert.equal(await typed(page), CARS);
  await goTo(page, "parties");
  await page.keyboard.type("publ");
  await completion.getByText("public", { exact: true }).waitFor();
  // Soon after it opens, a list takes no key, which may have been meant for the text.
  await page.waitForTimeout(200);
  await page.keyboard.press("Tab");
  assert.equal(await typed(page), `public${CARS}`);
  await page.context().close();
});

test("Tab indents, Escape and Tab leaves, Control and F finds", async () => {
  const page = await withProgram(CARS);
  await goTo(page, "count\n}");
  await page.keyboard.press("Tab");
  assert.equal(await typed(page), CARS.replace("    count\n}", "        count\n}"));
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  const isInside = await page.evaluate(() => document.activeElement.id === "editor");
  assert.equal(isInside, false);
  assert.equal(await typed(page), CARS);
  await goTo(page, "parties");
  await page.keyboard.press("Control+f");
  await page.keyboard.type("Green");
  await page.locator(".cm-searchMatch", { hasText: "Green" }).first().waitFor();
  await isAccessible(page, "playground-find");
  await page.context().close();
});

test("a program's tests are run, and each has its verdict", async () => {
  const page = await withProgram(CARS);
  await page.getByRole("button", { name: "Run the tests" }).click();
  await page.getByText("1 of 2 passed").waitFor();
  const verdicts = await page.locator("#verdicts li").allInnerTexts();
  assert.match(verdicts[0], /passed.*one fits/);
  assert.match(verdicts[1], /failed.*none fits[^]*left 0, right 1/);
  assert.match(await page.locator(".cm-lintRange-error").first().innerText(), /main/);
  await isAccessible(page, "playground-tests");
  await paste(page, CARS.slice(0, CARS.indexOf("test")));
  await page.locator("#tests").waitFor({ state: "hidden" });
  await page.context().close();
});

test("structs are typed into a form, or as text", async () => {
  const page = await withProgram(CARS);
  const clear = page.locator("#clear");
  await clear.getByLabel("cars[0].color").selectOption("Green");
  await clear.getByLabel("cars[0].price").fill("900");
  await clear.getByRole("button", { name: "Add a row" }).click();
  await clear.getByLabel("cars[1].price").fill("700");
  await clear.getByLabel("most").fill("800");
  await isAccessible(page, "playground-form");
  await clear.getByRole("button", { name: "Evaluate" }).click();
  await page.getByRole("cell", { name: "1", exact: true }).first().waitFor();
  await clear.locator("summary").click();
  const text = clear.getByLabel("cars as text");
  const rows = [
    { color: "Green", price: "900" },
    { color: "Red", price: "700" },
  ];
  assert.deepEqual(JSON.parse(await text.inputValue()), rows);
  await text.fill('[{"color": "Red", "price": 5}]');
  assert.equal(await clear.getByLabel("cars[0].price").inputValue(), "5");
  assert.equal(await clear.getByLabel("cars[1].price").count(), 0);
  await page.context().close();
});

test("a link holds the program; a damaged one, or one that is too large, says so", async () => {
  const page = await withProgram(CARS);
  await page.getByRole("button", { name: "Copy a link" }).click();
  const link = await page.getByLabel("A link that holds the program").inputValue();
  assert.equal(new URL(link).search, "");
  const other = await open(await person(browser), link);
  await other.locator("#start:enabled").waitFor();
  assert.equal(await typed(other), CARS);
  assert.equal(new URL(other.url()).hash, "");
  // What the visitor writes stays, also when another link is opened.
  await paste(other, CARS.replaceAll("Green", "Blue"));
  await other.locator("#start:enabled").waitFor();
  await other.evaluate((hash) => (location.hash = hash), new URL(link).hash);
  await other.getByText("Yours is kept").waitFor();
  assert.equal(await typed(other), CARS);
  for (const hash of [
    new URL(link).hash.slice(0, -9),
    "#program=%",
    // A megabyte of zeros, compressed.
    await other.evaluate(async () => {
      const zeros = new Blob([new Uint8Array(1 << 20)]).stream();
      const packed = zeros.pipeThrough(new CompressionStream("deflate-raw"));
      const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
      const letters = btoa(String.fromCharCode(...bytes));
      return `#program=${letters.replaceAll("+", "-").replaceAll("/", "_")}`;
    }),
  ]) {
    await other.evaluate((hash) => (location.hash = hash), hash);
    await other.getByText("The program in the link is damaged").waitFor();
    assert.equal(await typed(other), CARS);
    await other.evaluate(() => document.getElementById("kept").replaceChildren());
  }
  await page.context().close();
  await other.context().close();
});

test("a run's bytes and time are shown by each protocol, and nothing is wider than a phone", async () => {
  const page = await withProgram(CARS, PHONE);
  const rows = await page.locator("#cost > table tbody tr").allInnerTexts();
  assert.match(rows[0], /the garbler sends\s+[\d.]+\skB\s+[\d.]+\skB/);
  assert.match(rows[3], /time at 50 Mbit\/s, 33 ms away\s+67\sms\s+\d+\sms/);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.equal(width, PHONE.width);
  await page.context().close();
});
