//! Tables that several threads read, compared with the same read byte by byte by one.

use std::io::{self, Read};
use std::num::NonZeroUsize;

use super::super::*;
use tacit_function::join::JoinSide;

use crate::border::{LeftOut, RowRules};

const JOIN: &str = "
parties a, b;
param N: 0..=400 = len(left);
param M: 0..=400 = len(right);
struct L { id: text, x: u16, more: text<4> }
struct R { id: text }
main(left: [L; ..N] of a, right: [R; ..M] of b,
     pairs: join left by email(id) with right by email(id)) -> (sum: u32 to both) {
    let mut sum: u32 = 0;
    for p in pairs { sum += p.left.x as u32; }
    sum
}
";

/// A reader of pieces of this size, which fails at the end if it is told so.
struct Pieces<'b>(&'b [u8], usize, bool);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(self.0.len()).min(into.len());
        if size == 0 && std::mem::take(&mut self.2) {
            return Err(io::Error::other("gone"));
        }
        let (piece, rest) = self.0.split_at(size);
        into[..size].copy_from_slice(piece);
        self.0 = rest;
        Ok(size)
    }
}

/// The rows of a table: their cells and other bytes, and the numbers of rows and keys.
type Rows = (Vec<Vec<u8>>, Vec<u8>, usize, Option<usize>, LeftOut);

fn read(signature: &Signature, side: usize, from: Pieces<'_>) -> Result<Rows, String> {
    let value = signature.read_csv(&signature.inputs()[side], "t.csv", from, None);
    let value = value.map_err(|error| error.to_string())?;
    let rows = value.rows.as_ref().expect("a table");
    let cells = (0..rows.cells.len()).map(|cell| rows.cells.get(cell).to_vec());
    let (packed, count) = (rows.packed.to_vec(), rows.count);
    Ok((cells.collect(), packed, count, rows.keys, value.left_out()))
}

/// Numbers that are as good as random here.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % most
    }

    /// Returns one of these, the first ones more often than the last `rare`, of which there is one
    /// in `of`.
    fn one<T: Copy>(&mut self, all: &[T], rare: usize, of: u64) -> T {
        let usual = all.len() - rare;
        let place = if rare > 0 && self.below(of) == 0 {
            usual + self.below(rare as u64) as usize
        } else {
            self.below(usual as u64) as usize
        };
        all[place]
    }
}

/// Returns a table of one or of three columns. The higher `trouble` is, the fewer odd rows it has.
fn table(numbers: &mut Numbers, is_wide: bool, trouble: u64) -> Vec<u8> {
    let mut text = b"\xef\xbb\xbf".repeat(numbers.below(2) as usize);
    text.extend_from_slice(if is_wide { b"more,id,x" } else { b"id" });
    let ends: [&[u8]; 6] = [b"\n", b"\r\n", b"\n\n", b"\r", b"\r\n\n\r\n", b"\n\"\xff"];
    let usual_end = numbers.one(&ends[..2], 0, 1);
    text.extend_from_slice(usual_end);
    let long = [b'y'; 200];
    for row in 0..numbers.below(90) {
        let number = if numbers.below(trouble) == 0 { 7 } else { row };
        let mut id = format!("person {number}").into_bytes();
        match numbers.below(4 * trouble) {
            0 => id = [b"\"", &id[..], b",\"\"\n\r\n\""].concat(),
            1 => id = [b"5\" ", &id[..]].concat(),
            2 => id.extend_from_slice(&long),
            3 => id = b"\"\"".to_vec(),
            4 => id = " \u{a0}É\u{301}'".to_owned().into_bytes(),
            5 => id.extend_from_slice(b"\xef\xbb\xbf"),
            6 => id = [b"\"", &id[..], b"\""].concat(),
            7 => id = [b"\xef\xbb\xbf\"", &id[..], b"\"x"].concat(),
            8 if numbers.below(8) == 0 => id.push(0xc3),
            9 if numbers.below(8) == 0 => id.insert(0, b'"'),
            10 if numbers.below(8) == 0 => id.extend_from_slice(b",1"),
            11 if numbers.below(8) == 0 => id.push(0),
            _ => {}
        }
        if is_wide {
            let more: [&[u8]; 5] = [b"", b"ab", b"\"\"\"\"", b"'=1", b"\xc3\xa9\"a"];
            text.extend_from_slice(numbers.one(&more, 3, trouble));
            text.push(b',');
            text.extend_from_slice(&id);
            text.push(b',');
            let x = [
                "0",
                "7",
                "65535",
                "000000000000000000009",
                " 12 ",
                "0x1F",
                "+5",
                "",
                "65536",
                "-1",
                "1.5",
                "x",
                "99999999999999999999999",
            ];
            let rare = if numbers.below(4) == 0 { 6 } else { 0 };
            text.extend_from_slice(numbers.one(&x[..7 + rare], rare, trouble).as_bytes());
        } else {
            text.extend_from_slice(&id);
        }
        let is_usual = numbers.below(trouble) > 0;
        text.extend_from_slice(if is_usual {
            usual_end
        } else {
            numbers.one(&ends, 3, 4)
        });
    }
    text.truncate(text.len() - numbers.below(3).min(text.len() as u64) as usize);
    text
}

#[test]
fn threads_read_tables_as_one_does_byte_by_byte() {
    let plain = signature(JOIN);
    let leaving_out = plain.clone().with_row_rules(RowRules {
        drop_missing: true,
        keep_first: true,
    });
    let (mut numbers, mut read_well) = (Numbers(1), 0);
    for case in 0..900_usize {
        let trouble = [4, 20, 200, 2000][case % 4];
        let side = case / 4 % 2;
        let text = table(&mut numbers, side == 0, trouble);
        let signature = if case % 3 == 0 { &plain } else { &leaving_out };
        let fails = numbers.below(10) == 0;
        let expected = read(signature, side, Pieces(&text, 1, fails));
        read_well += usize::from(expected.is_ok());
        for (threads, size) in [(1, 1 << 20), (2, 1 << 20), (3, 50), (2, 100), (2, 1)] {
            let signature = signature
                .clone()
                .on_threads(NonZeroUsize::new(threads).unwrap());
            let found = read(&signature, side, Pieces(&text, size, fails));
            let text = String::from_utf8_lossy(&text);
            assert_eq!(
                found, expected,
                "case {case}, {threads} threads, {size}: {text:?}"
            );
        }
    }
    assert!(
        (300..700).contains(&read_well),
        "{read_well} tables have no error"
    );
}

/// Rows beyond the most are refused with their line, wherever a block ends.
#[test]
fn threads_find_the_first_row_too_many() {
    let signature = signature(JOIN);
    for count in [399, 400, 401, 450] {
        let rows: String = (0..count).map(|row| format!("a{row}\n")).collect();
        let text = format!("id\n{rows}");
        let expected = read(&signature, 1, Pieces(text.as_bytes(), 1, false));
        assert_eq!(expected.is_ok(), count <= 400);
        for threads in [2, 5] {
            let signature = signature
                .clone()
                .on_threads(NonZeroUsize::new(threads).unwrap());
            for size in [1, 50, 1 << 20] {
                let found = read(&signature, 1, Pieces(text.as_bytes(), size, false));
                assert_eq!(found, expected);
            }
        }
    }
}

/// Empty lines at the end are refused, also where they are all that follows a block.
#[test]
fn threads_find_empty_lines_behind_the_last_block() {
    let signature = signature(JOIN);
    for (count, empty) in [(16, "\n"), (16, "\r\n\n"), (32, "\n"), (17, "\n")] {
        let rows: String = (0..count).map(|row| format!("pers{row:03}\n")).collect();
        let text = format!("id\n{rows}{empty}");
        let expected = read(&signature, 1, Pieces(text.as_bytes(), 1, false));
        assert!(
            expected
                .as_ref()
                .is_err_and(|told| told.contains("which is empty"))
        );
        for (threads, size) in [(2, 1), (3, 50), (2, 1 << 20)] {
            let signature = signature
                .clone()
                .on_threads(NonZeroUsize::new(threads).unwrap());
            let found = read(&signature, 1, Pieces(text.as_bytes(), size, false));
            assert_eq!(found, expected, "{count} rows");
        }
    }
}

/// Spans of rows that threads encode follow each other as those of one thread.
#[test]
fn threads_encode_rows_as_one_does() {
    let signature = signature(JOIN);
    let rows: String = (0..300).map(|row| format!("p{row}@x,{row},ab\n")).collect();
    let text = format!("id,x,more\n{rows}");
    let value = signature.read_csv(&signature.inputs()[0], "t.csv", text.as_bytes(), None);
    let value = value.expect("a table");
    let encoded = |threads| {
        let rows = signature.joined_rows(JoinSide::Left, &value).expect("rows");
        let table = rows.encode(NonZeroUsize::new(threads).unwrap());
        let (keys, rows) = table.expect("keys").into_parts();
        let keys = (0..keys.len()).map(|key| keys.get(key).to_vec());
        (keys.collect::<Vec<_>>(), rows)
    };
    let one = encoded(1);
    assert_eq!(one.0.len(), 300);
    assert_eq!(encoded(3), one);
}

/// An empty line of a column may be a row, also where a block ends.
#[test]
fn threads_find_an_empty_line_between_blocks() {
    let signature = signature(JOIN);
    for empty in 1..90 {
        let row = |row| format!("{}person {row}\n", if row == empty { "\n" } else { "" });
        let text = format!("id\n{}", (0..90).map(row).collect::<String>());
        let expected = read(&signature, 1, Pieces(text.as_bytes(), 1, false));
        let line = format!("line {}, which is empty", empty + 2);
        assert!(expected.as_ref().is_err_and(|told| told.contains(&line)));
        for (threads, size) in [(2, 1), (3, 50), (2, 1 << 20)] {
            let signature = signature
                .clone()
                .on_threads(NonZeroUsize::new(threads).unwrap());
            let found = read(&signature, 1, Pieces(text.as_bytes(), size, false));
            assert_eq!(found, expected, "line {}", empty + 2);
        }
    }
}
