// What the friend finder says: no browser is needed.
import assert from "node:assert/strict";
import test from "node:test";

import { capital, initials } from "../pages/friend-finder/words.js";

test("every name has letters for the map, whatever its spaces", () => {
  assert.equal(initials("ada lovelace"), "AL");
  assert.equal(initials(" ada  lovelace the first "), "AL");
  assert.equal(initials("ada"), "A");
  assert.equal(initials(""), "");
  assert.deepEqual([capital("ada"), capital("")], ["Ada", ""]);
});
