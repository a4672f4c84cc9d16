// Programs to begin with: those of the project, at sizes that fit a page.
const chosen = [
  { name: "Sealed-bid auctions", file: "01_auction.tacit", params: { LOTS: "2" } },
  { name: "Pay of women and men", file: "02_salary_gap.tacit", params: { N: "6", FLOOR: "2" } },
  { name: "What two lists have in common", file: "03_psi_sum.tacit", params: { LOG: "2" } },
  {
    name: "A decision tree on hidden features",
    file: "07_decision_tree.tacit",
    params: { DEPTH: "2", FEATURES: "3" },
  },
];

export const names = chosen.map(({ name }) => name);

/** The text and params of an example, by its place among the names. */
export async function example(place) {
  const { file, params } = chosen[place];
  const answer = await fetch(`examples/${file}`);
  if (!answer.ok) throw new Error(`the example ${file} is not there`);
  return { text: await answer.text(), params };
}
