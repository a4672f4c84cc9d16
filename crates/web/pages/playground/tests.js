// The tests of a program: what each says, and where it failed.
import { element, show, styled } from "../page.js";
import { placed, showFailures } from "./editor.js";

/** Whether a program has tests. */
export const hasTests = (source) => /^\s*test\s+"/m.test(source);

/** Shows the verdict on each test. */
export function showVerdicts(place, reports) {
  const items = reports.map(({ name, at, errors, debugged }) => {
    const passed = errors.length === 0;
    const verdict = styled("strong", passed ? "right" : "wrong", passed ? "passed" : "failed");
    const lines = debugged.length > 0 ? [element("pre", debugged.join("\n"))] : [];
    const failed = errors.map((error) => element("p", "", ...placed(error)));
    const button = placed({ at, message: name });
    return element("li", "", verdict, " ", ...button, ...failed, ...lines);
  });
  const list = element("ul", "", ...items);
  list.className = "plain";
  const count = reports.filter(({ errors }) => errors.length === 0).length;
  show(place, element("p", `${count} of ${reports.length} passed`), list);
  showFailures(reports.flatMap(({ errors }) => errors));
}
