//! Rows that a join does not take.

mod blocks;
mod parts;

use std::num::NonZeroUsize;

use serde_json::json;
use tacit_circuit::{HostValue, NumberFormat, Numbers};
use tacit_function::join::{JoinSide, KeyEncoding};

use super::*;
use crate::border::{LeftOut, RowRules};

const JOIN: &str = "
parties a, b;
param N: 0..=100 = len(left);
param M: 0..=100 = keys(right);
struct L { id: text, born: text, x: u8 }
struct R { name: text, day: text, y: i16, more: text<4> }
main(left: [L; ..N] of a, right: [R; ..2 * M] of b,
     pairs: join left by (email(id), date(born)) with right by (email(name), date(day)) upto 2)
    -> (sum: i32 to both) {
    let mut sum: i32 = 0;
    for p in pairs {
        sum += p.right.items[0].y as i32 + p.right.items[1].y as i32 + p.left.x as i32;
    }
    sum
}
";

const BOTH: RowRules = RowRules {
    drop_missing: true,
    keep_first: true,
};

fn rows(signature: &Signature, number: usize, csv: &str) -> Result<(usize, LeftOut), String> {
    let input = &signature.inputs()[number];
    let value = signature.read_csv(input, "t.csv", csv.as_bytes(), None);
    let value = value.map_err(|error| error.to_string())?;
    Ok((
        value.rows.as_ref().expect("a table").count,
        value.left_out(),
    ))
}

#[test]
fn rows_of_a_file_are_named_by_their_lines_or_left_out() {
    let plain = signature(JOIN);
    let csv = "more,name,day,y\n,a@x,2024-01-31,1\n,\" A@X\",31.1.2024,2\n,a@x ,20240131,4\n\n\
               ,b@x,1/2/2024,8\n,b@x,2024-01-31,\n, ,2024-01-31,16\n,b@x,2024-01-31,32\n";
    let told = rows(&plain, 1, csv).unwrap_err();
    assert_eq!(
        told,
        "right in t.csv has no valid value in line 6, line 7 of \"y\", line 8"
    );
    let dropping = RowRules {
        keep_first: false,
        ..BOTH
    };
    let told = rows(&plain.clone().with_row_rules(dropping), 1, csv).unwrap_err();
    assert_eq!(
        told,
        "right in t.csv has a key in more than 2 rows: line 4 has the key of line 2"
    );
    let left_out = LeftOut {
        missing: 3,
        repeated: 1,
    };
    let cleaned = plain.clone().with_row_rules(BOTH);
    assert_eq!(rows(&cleaned, 1, csv), Ok((3, left_out)));
    let value = |number: usize, csv: &str| {
        let input = &cleaned.inputs()[number];
        let value = cleaned.read_csv(input, "t.csv", csv.as_bytes(), None);
        (input.name.to_string(), value.expect("a table"))
    };
    let left = "id,born,x\nA@x,31.1.2024,100\nb@x,2024-01-31,64\nc@x,2024-01-31,0\n";
    let values = BTreeMap::from([value(0, left), value(1, csv)]);
    let sums = cleaned.evaluate(&values, 0).expect("a sum");
    assert_eq!(cleaned.json(&sums[0]), json!(1 + 2 + 100 + 32 + 64));
    // A file of nothing but such rows is a table of none.
    assert_eq!(
        rows(&cleaned, 0, "id,born,x\n,,\n"),
        Ok((
            0,
            LeftOut {
                missing: 1,
                repeated: 0
            }
        ))
    );
    let many: String = (0..8).map(|_| "a,,1\n").collect();
    let told = rows(&plain, 0, &format!("id,born,x\n{many}")).unwrap_err();
    assert!(told.ends_with("in line 2, line 3, line 4, line 5, line 6, and 3 more"));
}

#[test]
fn rows_of_a_list_are_named_by_their_places() {
    let plain = signature(JOIN);
    let cleaned = plain.clone().with_row_rules(BOTH);
    let input = &plain.inputs()[0];
    let list = json!([
        { "id": "a", "born": "2024-01-01", "x": null },
        { "id": "a", "born": "2024-01-01", "x": 1 },
        { "id": null, "born": "2024-01-01", "x": 2 },
        { "id": "a", "born": "2024/1/1", "x": 3 },
        { "id": "a", "born": "yesterday", "x": 4 },
    ]);
    let told = plain.read_json(input, &list).unwrap_err().to_string();
    assert_eq!(
        told,
        "left has no valid value in [0] of \"x\", [2] of \"id\", [4]"
    );
    let value = cleaned.read_json(input, &list).expect("a table");
    assert_eq!(
        value.left_out(),
        LeftOut {
            missing: 3,
            repeated: 1
        }
    );
    let texts = json!(["a", "a", "b"]);
    let days = json!(vec!["2024-01-01"; 3]);
    let numbers = [7, 8, 9];
    let columns = [
        ("id".to_owned(), HostValue::Json(&texts)),
        ("born".to_owned(), HostValue::Json(&days)),
        (
            "x".to_owned(),
            HostValue::Numbers(Numbers::new(NumberFormat::Unsigned(1), &[3], &numbers).unwrap()),
        ),
    ];
    let told = plain.read_given(input, HostValue::Columns(&columns));
    let told = told.unwrap_err().to_string();
    assert_eq!(
        told,
        "left has a key in several rows: [1] has the key of [0]"
    );
    let value = cleaned.read_given(input, HostValue::Columns(&columns));
    let value = value.expect("a table");
    let rows = cleaned.joined_rows(JoinSide::Left, &value).expect("rows");
    let (keys, rows) = rows.encode(NonZeroUsize::MIN).expect("keys").into_parts();
    for (row, id) in ["a", "b"].into_iter().enumerate() {
        let key = KeyEncoding::default().text(id.as_bytes());
        assert_eq!(keys.get(row), key.text(b"2024-01-01").bytes());
    }
    assert_eq!(*rows, [7, 9]);
}
