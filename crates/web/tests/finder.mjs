// The page of the friend finder in Chromium: invitations, the sheet, the map, what is forgotten.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  PHONE,
  SHORT_PHONE,
  browse,
  isAccessible,
  join,
  open,
  person,
  picture,
  startFriendFinder,
  stopAll,
} from "./scene.mjs";
import { answer, isInView, kept, overflow, setPlace, square } from "./on-the-map.mjs";

let browser;
let invitations;
let origin;
let page;

before(async () => {
  browser = await browse();
  const env = { PROFILE: "dev", COPIES: "128", RATE: "1000/1h" };
  ({ invitations } = await startFriendFinder(3, env));
  origin = new URL(invitations[0]).origin;
  page = await join(await person(browser, PHONE), invitations[0]);
  await setPlace(page, "C4");
});

after(async () => {
  await browser?.close();
  await stopAll();
});

test("an invitation takes nobody's place unasked", async () => {
  const before = await kept(page);
  assert.ok(before.pin);
  for (const [place, invitation] of invitations.entries()) {
    await page.goto("about:blank");
    await page.goto(invitation);
    // Its own is not asked about.
    if (place > 0) {
      await page.getByRole("heading", { name: `You are invited as guest ${place + 1}` }).waitFor();
      await page.getByText("It replaces guest 1 here").waitFor();
      await page.getByRole("button", { name: "Decline" }).click();
    }
    await page.getByText("You are guest 1.").waitFor();
    assert.deepEqual(await kept(page), before);
  }
  const newcomer = await open(await person(browser, PHONE), invitations[1]);
  await newcomer.getByRole("heading", { name: "You are invited as guest 2" }).waitFor();
  assert.equal(await newcomer.getByText("It replaces").count(), 0);
  await isAccessible(newcomer, "friend-finder-invited");
  await newcomer.getByRole("button", { name: "Decline" }).click();
  await newcomer.getByText("You have no invitation yet").waitFor();
  assert.equal(await kept(newcomer), undefined);
  await newcomer.context().close();
});

test("without an invitation the page says what to do, and takes one that is pasted", async () => {
  const page = await open(await person(browser, SHORT_PHONE), `${origin}/friend-finder/`);
  await page.getByRole("heading", { name: "You have no invitation yet" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Set my place" }).isVisible(), false);
  await isAccessible(page, "friend-finder-uninvited");
  const link = page.getByLabel("Your link");
  for (const wrong of ["https://elsewhere.example/", "hello", invitations[1].slice(0, -40), ""]) {
    await link.fill(wrong);
    await link.press("Enter");
    assert.match(await answer(page), /This invitation is damaged/);
  }
  for (const given of [invitations[1], invitations[1].split("#")[1]]) {
    await link.fill(` ${given}\n`);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("heading", { name: "You are invited as guest 2" }).waitFor();
    if (given === invitations[1]) await page.getByRole("button", { name: "Decline" }).click();
  }
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByText("You are guest 2.").waitFor();
  assert.equal(await link.isVisible(), false);
  await page.context().close();
});

test("to be forgotten takes two presses", async () => {
  const page = await join(await person(browser, PHONE), invitations[1]);
  const forget = () => page.getByRole("button", { name: "Forget me on this device" }).click();
  await forget();
  const dialog = page.getByRole("dialog", { name: "Forget you on this device?" });
  await dialog.waitFor();
  await isAccessible(page, "friend-finder-forget");
  await dialog.getByRole("button", { name: "Keep me" }).click();
  assert.equal((await kept(page)).id, 2);
  await forget();
  await page.keyboard.press("Escape");
  assert.equal((await kept(page)).id, 2);
  await forget();
  await dialog.getByRole("button", { name: "Forget me" }).click();
  await page.getByText("This device has forgotten you.").waitFor();
  await page.getByText("You have no invitation yet").waitFor();
  assert.equal(await kept(page), undefined);
  await page.context().close();
});

test("the answer and the button are in view on a short phone", async () => {
  await page.setViewportSize(SHORT_PHONE);
  const button = page.getByRole("button", { name: "Set my place" });
  for (const name of ["A1", "P16"]) {
    await setPlace(page, name);
    const said = page.locator("#answer");
    assert.ok((await isInView(page, button)) && (await isInView(page, said)), name);
    assert.equal(await overflow(page), 0);
  }
  // Also where the page was scrolled to its end.
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  assert.ok((await isInView(page, button)) && (await isInView(page, page.locator("#answer"))));
  await page.setViewportSize(PHONE);
});

test("the map zooms, and keeps what is chosen in view", async () => {
  await square(page, "N12").click();
  const width = async () => (await square(page, "N12").boundingBox()).width;
  const before = await width();
  const closer = page.getByRole("button", { name: "Zoom in" });
  const farther = page.getByRole("button", { name: "Zoom out" });
  assert.equal(await farther.getAttribute("aria-disabled"), "true");
  await closer.click();
  await closer.click();
  assert.ok(Math.abs((await width()) - 2 * before) < 1);
  assert.ok(await isInView(page, square(page, "N12")));
  assert.equal(await overflow(page), 0);
  // The keyboard takes the map along.
  await square(page, "N12").press("Home");
  assert.ok(await isInView(page, square(page, "A12")));
  await isAccessible(page, "friend-finder-zoomed");
  await farther.click();
  await farther.click();
  assert.ok(Math.abs((await width()) - before) < 1);
});

test("the page can be installed, and venues have names", async () => {
  const devtools = await page.context().newCDPSession(page);
  const { errors, data } = await devtools.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const { name, icons, start_url: begins } = JSON.parse(data);
  assert.equal(name, "Friend finder");
  assert.equal(begins, "./");
  for (const { src } of icons) {
    const icon = await page.request.get(new URL(src, page.url()).href);
    assert.equal(icon.headers()["content-type"], "image/svg+xml");
  }
  assert.equal(await square(page, "I9").getAttribute("aria-label"), "I9, Market Square");
  await page.locator("#venues").getByText("Market Square").waitFor();
  assert.ok(await page.locator("#picture").evaluate((picture) => picture.naturalWidth > 0));
});

test("the map is for keyboards and screen readers as well", async () => {
  const chosen = () => page.getByRole("radio", { checked: true }).getAttribute("aria-label");
  await square(page, "C4").press("ArrowRight");
  assert.equal(await chosen(), "D4");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowRight");
  assert.equal(await chosen(), "P4");
  await page.keyboard.press("ArrowDown");
  const focused = () => page.evaluate(() => document.activeElement.id);
  const passed = [];
  while (passed.at(-1) !== "set" && passed.length < 9) {
    await page.keyboard.press("Tab");
    passed.push(await focused());
  }
  assert.deepEqual(passed, ["farther", "closer", "agrees", "set"]);
  await page.keyboard.press("Enter");
  assert.match(await answer(page), /You are in P5 now/);
  await isAccessible(page, "friend-finder");
});

test("the keyboard's focus stays where a place was set", async () => {
  await square(page, "N4").focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Set my place" }).focus();
  await page.keyboard.press("Enter");
  assert.match(await answer(page), /You are in N4 now/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "set");
});

test("what is chosen is seen in colours that the system forces", async () => {
  await page.emulateMedia({ forcedColors: "active" });
  const background = (name) =>
    square(page, name).evaluate((cell) => getComputedStyle(cell).backgroundColor);
  await square(page, "N5").click();
  assert.notEqual(await background("N5"), await background("N6"));
  await picture(page, "friend-finder-forced");
  await page.emulateMedia({ forcedColors: "none" });
});

test("a damaged invitation is told in words, and changes nothing", async () => {
  const before = await kept(page);
  for (const damaged of [invitations[1].slice(0, -40), `${origin}/friend-finder/#invitation=!`]) {
    await page.goto("about:blank");
    await page.goto(damaged);
    await page.getByText("You are guest 1.").waitFor();
    assert.match(await answer(page), /This invitation is damaged.*Copy the whole link/);
    assert.deepEqual(await kept(page), before);
  }
  await isAccessible(page, "friend-finder-damaged");
});

test("an address without its slash leads to the page", async () => {
  const page = await open(await person(browser), `${origin}/friend-finder`);
  await page.getByText("You have no invitation yet").waitFor();
  assert.equal(page.url(), `${origin}/friend-finder/`);
  await page.context().close();
});
