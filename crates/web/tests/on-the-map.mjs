// What the tests of the friend finder do on its page.

/** A square of the map, whatever is in it. */
export const square = (page, name) =>
  page.getByRole("radio", { name: new RegExp(`^${name}(,|$)`) });

export const agrees = (page) =>
  page.getByRole("checkbox", { name: /tell both, if the friend agrees/ });

/** Begins to set a place. */
export async function set(page, name) {
  await square(page, name).click();
  await page.getByRole("button", { name: "Set my place" }).click();
}

/** What the page says in the end. */
export async function answer(page) {
  await page.locator("#answer .right, #answer .wrong").first().waitFor();
  return page.locator("#answer").innerText();
}

export async function setPlace(page, name) {
  await set(page, name);
  return answer(page);
}

/** What this device keeps of the map. */
export const kept = (page) =>
  page.evaluate(async () => (await import("/tacit/keep.js")).get("friend finder"));

/** Whether something is wholly in the window. */
export async function isInView(page, locator) {
  const box = await locator.boundingBox();
  const { width, height } = page.viewportSize();
  return box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
}

/** By how many pixels the page is wider than its window. */
export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
