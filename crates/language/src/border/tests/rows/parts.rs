//! Tables of which one part is read.

use super::*;
use tacit_function::join::Part;

const OF: u32 = 3;

/// A table of the right side with `keys` keys, each in two rows, then a row without a key.
fn table(keys: u32) -> String {
    let mut text = "name,day,y,more\n".to_owned();
    for row in 0..2 * keys {
        text += &format!("P{}@x,2024-01-31,{row},\"a\"\n", row % keys);
    }
    text + " ,2024-01-31,1,b\n"
}

fn part(number: u32) -> Option<Part> {
    Some(Part::new(number, OF).expect("a part"))
}

/// Returns the values of a part of this table as one list for each row, and the size that its owner
/// announces.
fn read(signature: &Signature, value: &PortValue) -> (Vec<String>, u64) {
    let rows = signature.joined_rows(JoinSide::Right, value).expect("rows");
    let mut key = KeyEncoding::default();
    let keys = (0..rows.len()).map(|row| {
        assert!(rows.encode_key(row, &mut key));
        format!(
            "{:?} {:?}",
            key.bytes(),
            value.rows.as_ref().unwrap().packed.chunks(6).nth(row)
        )
    });
    let known = signature.known_sizes(signature.role(1), value);
    (keys.collect(), known.expect("a size")["M"])
}

#[test]
fn each_row_is_in_one_part_however_it_is_read() {
    let whole = signature(JOIN).with_row_rules(BOTH);
    let text = table(40);
    let input = &whole.inputs()[1];
    let csv = |signature: &Signature| {
        let value = signature.read_csv(input, "t.csv", text.as_bytes(), None);
        let value = value.expect("a table");
        assert_eq!(value.left_out().missing, 1);
        read(signature, &value)
    };
    let (mut all, _) = csv(&whole);
    let mut found = Vec::new();
    for number in 1..=OF {
        let of_part = whole.clone().with_part(part(number)).expect("a join");
        let (rows, size) = csv(&of_part);
        // Of 80 rows with a key, by the formula of a shard, but not more than these.
        assert_eq!(size, 80);
        assert!((5..60).contains(&rows.len()), "{}", rows.len());
        let threads = NonZeroUsize::new(3).unwrap();
        assert_eq!(
            csv(&of_part.clone().on_threads(threads)),
            (rows.clone(), size)
        );
        let list: Vec<_> = (0..80)
            .map(|row| {
                let name = format!("P{}@x", row % 40);
                json!({ "name": name, "day": "2024-01-31", "y": row, "more": "a" })
            })
            .collect();
        let given = of_part.read_json(input, &json!(list)).expect("a table");
        assert_eq!(read(&of_part, &given).0, rows);
        found.extend(rows);
    }
    all.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, all);
    let all_of_it = whole
        .clone()
        .with_part(Some(Part::new(1, 1).unwrap()))
        .unwrap();
    assert_eq!(csv(&all_of_it), csv(&whole));
}

/// A table may have more rows than the program takes, if its parts have not. Which rows are in a
/// part does not decide whether it is refused for its size.
#[test]
fn a_part_has_the_size_that_the_program_takes() {
    let of_part = signature(JOIN)
        .with_row_rules(BOTH)
        .with_part(part(1))
        .expect("a join");
    let read = |number: usize, text: &str| {
        let of_part = of_part.clone().on_threads(NonZeroUsize::new(2).unwrap());
        rows(&of_part, number, text).map(|(count, _)| count)
    };
    let left = |keys: std::ops::Range<u32>| {
        let rows = keys.map(|key| format!("k{key}@x,2024-01-31,1\n"));
        format!("id,born,x\n{}", rows.collect::<String>())
    };
    // 34 + 46 + 1 + 32 of 100 keys are more than these, and 50 + 56 + 1 + 32 of 150 are too many.
    assert!(read(0, &left(0..100)).is_ok());
    for first in [0, 1_000, 2_000] {
        let told = read(0, &left(first..first + 150)).expect_err("too large");
        let said = "a part of 150 rows with a key counts as 139 keys, where 100 were agreed on";
        assert!(told.contains(said), "{told}");
    }
    // More than a part has room for.
    let told = read(0, &left(0..400)).expect_err("too large");
    assert!(told.contains("at most 100 rows"), "{told}");
}

#[test]
fn runs_without_parts_are_refused() {
    let by_pair = JOIN.replace("-> (sum: i32 to both) {", "-> (sums: [i16; N] to a) {");
    let body = by_pair.find("let mut sum").unwrap();
    let by_pair = by_pair[..body].to_owned() + "[for p in pairs { p.right.items[0].y }] }";
    let refused = signature(&by_pair)
        .with_part(part(1))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("the result sums"), "{refused}");
    let plain = "parties a, b; main(x: u8 of a) -> (y: u8 to both) { x }";
    let refused = signature(plain).with_part(part(1)).unwrap_err().to_string();
    assert!(refused.contains("joins no tables"), "{refused}");
    assert!(signature(plain).with_part(None).is_ok());
}
