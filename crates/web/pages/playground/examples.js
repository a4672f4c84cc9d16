// Programs to begin with.

export const examples = [
  {
    name: "A sealed-bid auction",
    text: `/// Who wins a sealed-bid auction, at the second price. Ties go to alice.
parties alice, bob;

main(bid: u32 of alice, offer: u32 of bob) -> (alice_wins: bool to both, price: u32 to both) {
    (bid >= offer, min(bid, offer))
}

test "a tie goes to alice at the common price" {
    assert main(7, 7) == (true, 7);
}
`,
  },
  {
    name: "A gap between salaries",
    text: `/// Whether two salaries differ by more than a limit that both agree on.
parties alice, bob;

param LIMIT: 0..=1_000_000 = 100;

main(a: u32 of alice, b: u32 of bob) -> (differ: bool to both) {
    max(a, b) - min(a, b) > LIMIT
}
`,
  },
  {
    name: "A shared evening",
    text: `/// The first evening of a week on which both are free: one bool a day.
parties alice, bob;

main(a: [bool; 7] of alice, b: [bool; 7] of bob) -> (day: u3 to both, found: bool to both) {
    let mut day: u3 = 0;
    let mut found = false;
    for i in 0..7 {
        let both = a[i] & b[i];
        if both & !found { day = i; }
        found = found | both;
    }
    (day, found)
}
`,
  },
];
