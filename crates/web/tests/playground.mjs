// The playground in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  browse,
  editor,
  isAccessible,
  open,
  paste,
  person,
  serveProgram,
  servePages,
  site,
  stopAll,
  typed,
  until,
} from "./scene.mjs";

let address;
let browser;
let context;

before(async () => {
  address = `${await servePages(site)}playground/`;
  browser = await browse();
  context = await person(browser);
});

after(async () => {
  await browser?.close();
  await stopAll();
});

const AUCTION = `parties alice, bob;

main(bid: u32 of alice, offer: u32 of bob) -> (alice_wins: bool to both, price: u32 to both) {
    let wins = bid >= offer;
    (wins, min(bid, offer))
}
`;

const LIST = `parties shop, buyer;

enum Color { Red, Green }

struct Car {
    color: Color,
    price: u16,
}

param CARS: 1..=8 = 2;

main(cars: [Car; CARS] of shop, most: u16 public, wish: Color of buyer)
    -> (fits: [Car; CARS] to buyer, count: u4 to buyer) {
    let mut fits = cars;
    let mut count: u4 = 0;
    for i in 0..CARS {
        if cars[i].price <= most && cars[i].color == wish { count += 1; }
        else { fits[i] = Car { color: Color::Red, price: 0 }; }
    }
    (fits, count)
}
`;

/** Puts a program into the editor, and waits until its ports are shown. */
async function type(page, text) {
  await paste(page, text);
  await page.locator("#start:enabled, #ports .quiet, #cost .quiet").first().waitFor();
}

test("a program is checked as it is typed, and each line has its cost", async () => {
  const page = await open(context, address);
  await page.locator("#start:enabled").waitFor();
  await paste(page, AUCTION.replace("bid >=", "bit >="));
  await page.locator("#problems li").waitFor();
  assert.match(await page.locator("#problems").innerText(), /bit/);
  assert.equal(await page.locator(".cm-lintRange-error").innerText(), "bit");
  await paste(page, AUCTION);
  await page.getByText("None.").waitFor();
  await page.getByText("What each line costs").click();
  const rows = await page.locator("details table").innerText();
  assert.match(rows, /4\s+let wins = bid >= offer;\s+32/);
  assert.deepEqual(await costs(page), ["32", "64"]);
  const clear = page.locator("#clear");
  await clear.getByLabel("bid").fill("7");
  await clear.getByLabel("offer").fill("9");
  await clear.getByRole("button").click();
  await page.locator("#clear-results table").waitFor();
  assert.match(await page.locator("#clear-results").innerText(), /price\s+7\s+both/);
  await isAccessible(page, "playground");
  await clear.getByLabel("offer").fill("-1");
  await clear.getByRole("button").click();
  assert.match(await page.locator("#clear-results .wrong").innerText(), /offer/);
  await page.close();
});

test("params, public values, enums and structs are those of the language", async () => {
  const page = await open(context, address);
  await page.locator("#start:enabled").waitFor();
  await type(page, LIST);
  await page.getByText("give the public input most: u16 public").waitFor();
  await page.locator("#public").getByLabel("most").fill("900");
  await page.getByText("What each line costs").waitFor();
  const clear = page.locator("#clear");
  const cars = '[{"color": "Green", "price": 899}, {"color": "Green", "price": 901}]';
  await clear.locator("summary").click();
  await clear.getByLabel("cars as text").fill(cars);
  await clear.getByLabel("wish").selectOption("Green");
  await clear.getByRole("button").click();
  await page.locator("#clear-results table").first().waitFor();
  const results = await page.locator("#clear-results").innerText();
  assert.match(results, /count\s+1/);
  assert.match(results, /Green\s+899/);
  await isAccessible(page, "playground-rich");
  await page.close();
});

for (const protocol of ["direct", "authenticated"]) {
  test(`two tabs compute an auction by ${protocol}`, async () => {
    const tabs = [];
    for (const [party, input, value] of [
      ["alice", "bid", "12"],
      ["bob", "offer", "30"],
    ]) {
      const page = await open(context, `${address}?party=${party}`);
      await page.locator("#start:enabled").waitFor();
      await type(page, AUCTION);
      await page.locator("#run-inputs").getByLabel(input).waitFor();
      assert.equal(await page.getByLabel("You are").inputValue(), party);
      await page.getByLabel("Secure against").selectOption(protocol);
      await page.locator("#run").getByLabel(input).fill(value);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      tabs.push(page);
    }
    for (const page of tabs) {
      await page.locator("#run-results table, #run-results .wrong").first().waitFor();
      const results = await page.locator("#run-results").innerText();
      assert.match(results, /price\s+12/);
      assert.match(results, protocol === "direct" ? /semi-honest/ : /malicious.*of this run alone/);
      await page.close();
    }
  });
}

/** A service that runs the auction as this role with whom it knows by this fingerprint. */
const serveAuction = (role, peer) =>
  serveProgram({ text: AUCTION, role, peer, inputs: { bid: 7, offer: 9 }, address });

test("a page runs both roles with a service, as an identity that no script can read", async () => {
  const page = await open(context, address);
  const made = await page.evaluate(async () => {
    const { Tacit } = await import("/tacit/tacit.js");
    const { putIdentity } = await import("/tacit/keep.js");
    const tacit = new Tacit();
    const identity = await tacit.generateIdentity();
    await putIdentity("me", identity);
    const readOut = crypto.subtle.exportKey("pkcs8", identity.privateKey);
    const isRead = await readOut.then(
      () => true,
      () => false,
    );
    return { fingerprint: await tacit.fingerprint(identity), isRead };
  });
  assert.match(made.fingerprint, /^tacit:/);
  assert.equal(made.isRead, false);
  await page.reload();
  const run = (at, order, isStranger = false) =>
    page.evaluate(
      async ({ at, order, isStranger }) => {
        const { Tacit } = await import("/tacit/tacit.js");
        const { getIdentity } = await import("/tacit/keep.js");
        const tacit = new Tacit();
        const identity = isStranger ? await tacit.generateIdentity() : await getIdentity("me");
        try {
          return await tacit.runTwoParty(at, { ...order, identity });
        } catch ({ kind, message }) {
          return { kind, message };
        } finally {
          tacit.close();
        }
      },
      { at, order, isStranger },
    );
  for (const [role, party, inputs] of [
    ["garbler", "bob", { offer: 12 }],
    ["evaluator", "alice", { bid: 5 }],
  ]) {
    const { url, fingerprint } = await serveAuction(role, made.fingerprint);
    const order = { program: { text: AUCTION }, party, inputs, peer: fingerprint };
    for (const protocol of ["direct", "authenticated"]) {
      const { results, message } = await run({ url }, { ...order, protocol });
      const price = results?.find(({ name }) => name === "price").value;
      assert.equal(price, role === "garbler" ? 7 : 5, `${role}, ${protocol}: ${message}`);
    }
    const stranger = await run({ url }, { ...order, protocol: "direct" }, true);
    assert.match(stranger.kind, /incompatible|network/, JSON.stringify(stranger));
    const prepared = await run({ url }, { ...order, protocol: "prepared" });
    assert.match(prepared.message, /keeps no stock.*never be used twice/);
  }
  await page.close();
});

test("a run that nobody joins is cancelled, and the page goes on", async () => {
  const page = await open(context, address);
  await page.locator("#start:enabled").waitFor();
  await type(page, AUCTION);
  await page.locator("#run-inputs").getByLabel("bid").waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("give the input of alice bid").waitFor();
  await page.locator("#run-inputs").getByLabel("bid").fill("5");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("Waiting for the other tab").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("cancelled").waitFor();
  await page.locator("#start:enabled").waitFor();
  await page.close();
});

/** What the lines cost, as the editor shows it at their side. */
const costs = async (page) => (await page.locator(".cm-costs").innerText()).trim().split(/\s+/);

test("choosing an example keeps the visitor's program, and so does undo", async () => {
  const page = await open(await person(browser), address);
  await page.locator("#start:enabled").waitFor();
  const example = await typed(page);
  await type(page, AUCTION);
  await page.getByLabel("Choose a program").selectOption("Pay of women and men");
  await page.getByText("Your program is kept").waitFor();
  await page.locator("#start:enabled").waitFor();
  assert.match(await typed(page), /FLOOR/);
  await isAccessible(page, "playground-kept");
  await editor(page).press("Control+z");
  assert.equal(await typed(page), AUCTION);
  await editor(page).press("Control+Shift+Z");
  assert.match(await typed(page), /FLOOR/);
  // What was changed in an example is the visitor's, too, and an earlier program stays.
  await editor(page).press("End");
  await page.keyboard.type("// mine");
  const changed = await typed(page);
  await page.getByLabel("Choose a program").selectOption("Sealed-bid auctions");
  await page.locator("#start:enabled").waitFor();
  assert.equal(await typed(page), example);
  await page.reload();
  await page.locator("#start:enabled").waitFor();
  assert.equal(await typed(page), example);
  await page.getByLabel("Choose a program").selectOption("parties alice, bob;");
  await page.getByText("None.").waitFor();
  assert.equal(await typed(page), AUCTION);
  const kept = await page.evaluate(() => localStorage.getItem("tacit playground earlier"));
  assert.deepEqual(
    JSON.parse(kept).map(({ text }) => text),
    [changed, AUCTION],
  );
  await page.context().close();
});

test("formatting is undone like typing, and keeps the place", async () => {
  const page = await open(await person(browser), address);
  await page.locator("#start:enabled").waitFor();
  const messy = AUCTION.replace("    let wins = ", "  let   wins=");
  await type(page, messy);
  await page.getByRole("button", { name: "Format" }).focus();
  await page.keyboard.press("Enter");
  await until(async () => (await typed(page)) === AUCTION, "the text to be formatted");
  assert.equal(await page.evaluate(() => document.activeElement.id), "format");
  await page.locator("#start:enabled").waitFor();
  await editor(page).press("Control+z");
  assert.equal(await typed(page), messy);
  await page.context().close();
});

test("a check has a limit, a newer text ends it, and no older cost is shown", async () => {
  const page = await open(await person(browser), address);
  await page.locator("#start:enabled").waitFor();
  await type(page, AUCTION);
  await page.getByText("None.").waitFor();
  assert.deepEqual(await costs(page), ["32", "64"]);
  const much = "let mut much: u4096 = 3;";
  const loop = `${much}\n    for i in 0..50_000 { much = much * much; }\n    `;
  const endless = AUCTION.replace("let wins", `${loop}let wins`);
  await paste(page, endless);
  await page.getByText("Checking…").waitFor();
  assert.deepEqual(await costs(page), [""]);
  assert.equal(await page.getByText("None.").count(), 0);
  assert.equal(await page.locator("#cost").innerText(), "");
  assert.equal(await page.locator("#start").isDisabled(), true);
  const begun = Date.now();
  await paste(page, AUCTION);
  await page.getByText("None.").waitFor();
  assert.deepEqual(await costs(page), ["32", "64"]);
  assert.ok(Date.now() - begun < 8000, "the older check was waited for");
  await paste(page, endless);
  await page.getByText("The check was stopped after 10 seconds").waitFor();
  assert.deepEqual(await costs(page), [""]);
  await isAccessible(page, "playground-stopped");
  await page.context().close();
});

test("two versions stand side by side, with the difference of each line", async () => {
  const page = await open(await person(browser), address);
  await type(page, AUCTION);
  await page.locator("#compare:enabled").click();
  await page.getByRole("heading", { name: "Two versions" }).waitFor();
  await page.getByText("Both are alike.").waitFor();
  const cheaper = "    // One comparison is enough.\n    (wins, if wins { offer } else { bid })";
  await type(page, AUCTION.replace("    (wins, min(bid, offer))", cheaper));
  const rows = page.locator("#lines tr.differs");
  await rows.first().waitFor();
  const cells = async () => {
    const found = [];
    for (const row of await rows.all()) {
      found.push((await row.locator("th, td").allInnerTexts()).map((text) => text.trim()));
    }
    return found;
  };
  assert.deepEqual(await cells(), [
    ["", "", "", "5", "// One comparison is enough.", "", ""],
    ["5", "(wins, min(bid, offer))", "64", "6", cheaper.split("\n")[1].trim(), "32", "−32"],
  ]);
  const sums = await page.locator("#sums tbody tr").allInnerTexts();
  assert.match(sums[0], /AND gates\s+96\s+64\s+−32/);
  assert.match(sums[1], /bytes\s+[\d.]+\skB\s+[\d.]+\skB\s+−[\d.]+\skB/);
  await page.locator("#measure").selectOption("bytes");
  assert.equal((await cells())[1].at(-1), "−1.02\u00a0kB");
  await page.locator("#measure").selectOption("time");
  assert.match((await cells())[1].at(-1), /^−0.16\u00a0ms$/);
  await isAccessible(page, "playground-versions");
  // A program that is wrong in between takes nothing away.
  await paste(page, AUCTION.replace("bid >=", "bit >="));
  await page.locator("#problems li").waitFor();
  assert.equal(await page.locator("#versions").getAttribute("aria-busy"), "true");
  await page.getByRole("button", { name: "Back to the first version" }).click();
  await page.getByText("Both are alike.").waitFor();
  assert.equal(await typed(page), AUCTION);
  await page.getByRole("button", { name: "End the comparison" }).click();
  assert.equal(await page.locator("#versions").isVisible(), false);
  await page.context().close();
});
