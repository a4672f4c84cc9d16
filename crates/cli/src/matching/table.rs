//! The keys in a column of a table, each once.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

use tacit::join::KeyEncoding;
use tacit::matching::{KeyKind, KeyNormalization, Part};
use tacit_language::{
    ChosenRows, ColumnCells, CsvError, CsvRecords, LeftOut, Malformed, RowRules, most_like,
};

use crate::args::MatchArgs;
use crate::failure::{Failure, input, usage};
use crate::inputs::split_column;
use crate::program::unfit_rows;

/// A column of keys, and what is done about rows without one key of their own.
#[derive(Clone, Copy)]
pub(crate) struct KeyColumn<'a> {
    /// The file and the name of the column, as in `FILE:COLUMN`.
    pub(crate) named: &'a str,
    /// The normalization of keys.
    pub(crate) normalize: KeyNormalization,
    /// The treatment of rows that do not fit.
    pub(crate) rules: RowRules,
    /// The part of the keys that is read, if it is not all of them.
    pub(crate) part: Option<Part>,
}

impl<'a> KeyColumn<'a> {
    /// Returns the column that the arguments name.
    pub(crate) fn of(args: &'a MatchArgs) -> Self {
        Self {
            named: &args.table,
            normalize: args.normalize,
            rules: args.rows.rules(),
            part: args.shard.part(),
        }
    }
}

/// The keys of a table, each once.
pub(crate) struct Table {
    /// The name of the column.
    pub(crate) column: String,
    cells: ColumnCells,
    /// The indices of the rows that are matched, from 0.
    rows: Vec<usize>,
    /// The number of rows that were left out.
    pub(crate) left_out: LeftOut,
    /// The number of rows with a key in all parts, which is the same for each part; without parts,
    /// that of keys.
    pub(crate) all_keys: usize,
}

impl Table {
    /// Reads the keys of a column on `threads` threads.
    pub(crate) fn read(args: KeyColumn<'_>, threads: NonZeroUsize) -> Result<Self, Failure> {
        let (path, column) = named(args.named);
        let file = File::open(path).map_err(|error| Failure::read(path, error))?;
        let read = read_column(file, (path, column), args, threads)?;
        Self::of(read, path, args, threads)
    }

    fn of(
        (name, cells): (String, ColumnCells),
        path: &str,
        args: KeyColumn<'_>,
        threads: NonZeroUsize,
    ) -> Result<Self, Failure> {
        let cells = cells.normalized(args.normalize, threads);
        let chosen = ChosenRows::of((cells.len(), threads), 1, |row| {
            Some(cells.compared(row)).filter(|key| !key.trim().is_empty())
        });
        let table = format!("{path}: column {name:?}");
        let line = |row: usize| format!("line {}", cells.line(row));
        let checked = chosen.check(args.rules, (&table, 1), line);
        checked.map_err(|rows| unfit_rows(&rows, "one row"))?;
        Ok(Self {
            column: name,
            left_out: chosen.left_out(),
            all_keys: match args.part {
                None => chosen.keys,
                Some(_) => chosen.taken.len() + chosen.repeated.len() + cells.elsewhere(),
            },
            rows: chosen.taken,
            cells,
        })
    }

    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the keys as they are compared.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| self.cells.compared(*row))
    }

    /// Returns a key as it stands in the table.
    pub(crate) fn cell(&self, key: usize) -> &str {
        self.cells.text(self.rows[key])
    }
}

/// Returns the path of a table and the name of its column, if there is one.
fn named(text: &str) -> (&str, Option<&str>) {
    match split_column(text) {
        // Match takes a table from a file with any ending.
        (path, None) if !Path::new(path).is_file() => match path.rsplit_once(':') {
            Some((path, column)) if !path.is_empty() => (path, Some(column)),
            _ => (path, None),
        },
        split => split,
    }
}

/// Encodes a key as it is compared, and returns whether it is one.
fn encode(key: &str, how: KeyNormalization, encoding: &mut KeyEncoding) -> bool {
    if how == KeyNormalization::None {
        encoding.push_text(key.as_bytes());
        return !key.trim().is_empty();
    }
    encoding.push_normalized(how, key)
}

/// Reads the column of this name, or the only one, of the file at `path`. Returns its name and its
/// cells; of a part of the table, those of the keys in this part and of the rows without one.
fn read_column(
    from: impl Read,
    (path, column): (&str, Option<&str>),
    args: KeyColumn<'_>,
    threads: NonZeroUsize,
) -> Result<(String, ColumnCells), Failure> {
    let mut records = CsvRecords::new(from);
    if !records.advance().map_err(|error| wrong(path, error))? {
        return Err(input!("{path} is empty"; "give a table whose first line names its columns"));
    }
    let cells = 0..records.width();
    // A name in another encoding is no reason to refuse the table: only keys are compared.
    let names = cells.map(|column| records.text(column).unwrap_or("\u{fffd}").to_owned());
    let mut names: Vec<_> = names.collect();
    let place = place(&names, column, path)?;
    let kind = KeyKind::Text(args.normalize);
    let cut = args.part.map(|part| part.cut([kind].into_iter()));
    let keep = |key: &str| {
        let Some(cut) = &cut else {
            return true;
        };
        let mut encoding = KeyEncoding::default();
        !encode(key, args.normalize, &mut encoding) || cut.takes(encoding.bytes())
    };
    let cells = records.column(place, &keep, threads);
    let cells = cells.map_err(|error| wrong(path, error))?;
    Ok((names.swap_remove(place), cells))
}

/// Returns the failure of a table that cannot be read.
fn wrong(path: &str, error: CsvError) -> Failure {
    let malformed = match error {
        CsvError::Unreadable(error) => return Failure::read(path, error),
        CsvError::Malformed(malformed) => malformed,
        other => return Failure::input(format!("{path}: {other:?}")),
    };
    match malformed {
        Malformed::NoUtf8 { line } => input!(
            "{path}: the key in line {line} is not text in UTF-8"; "save the table as UTF-8"
        ),
        Malformed::Cells { line, found, first } => input!(
            "{path}: line {line} has {found} cells, and the first line {first}";
            "put quotation marks around cells that have a comma"
        ),
        Malformed::Open { line } => input!(
            "{path}: a quotation mark is opened in line {line} and never closed";
            "write two where a cell has one, and one behind the cell"
        ),
        Malformed::TooLong { line, most } => input!(
            "{path}: the row that begins in line {line} has more than {most} bytes";
            "see whether a quotation mark is missing before it"
        ),
        other => Failure::input(format!("{path}: {other:?}")),
    }
}

/// Returns the index of the column.
fn place(names: &[String], column: Option<&str>, path: &str) -> Result<usize, Failure> {
    let all = || {
        let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
        names.join(", ")
    };
    let Some(column) = column else {
        return match names {
            [_] => Ok(0),
            _ => Err(usage!(
                "{path} has several columns"; "name one as in {path}:NAME, of {}", all()
            )),
        };
    };
    let mut places = (0..names.len()).filter(|place| names[*place] == column);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(input!(
            "{path} has several columns {column:?}"; "give each a name of its own"
        )),
        _ => {
            let like = most_like(column, names.iter().map(String::as_str));
            let like = like.map_or_else(String::new, |name| format!("did you mean {name:?}? "));
            let comma = match names {
                [only] if only.contains([';', '\t']) => {
                    ". Columns are separated by commas: save the table so"
                }
                _ => "",
            };
            Err(input!(
                "{path} has no column {column:?}";
                "{like}its first line has {}{comma}", all()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMN: KeyColumn<'static> = KeyColumn {
        named: "t.csv",
        normalize: KeyNormalization::None,
        rules: RowRules {
            drop_missing: true,
            keep_first: true,
        },
        part: None,
    };

    fn read(text: &str, column: Option<&str>) -> Result<(Vec<String>, Vec<u64>), String> {
        let from = ("t.csv", column);
        let read = read_column(text.as_bytes(), from, COLUMN, NonZeroUsize::MIN);
        let (_, cells) = read.map_err(|failure| failure.to_string())?;
        let rows = 0..cells.len();
        let texts = rows.clone().map(|row| cells.text(row).to_owned());
        Ok((texts.collect(), rows.map(|row| cells.line(row)).collect()))
    }

    #[test]
    fn a_column_is_read_with_its_lines() {
        let text = "\u{feff}id,mail\r\n1,\"a\nb\"\r\n2,\r\n\r\n3,é\r\n";
        let cells = ["a\nb", "", "é"].map(str::to_owned).to_vec();
        assert_eq!(read(text, Some("mail")), Ok((cells, vec![2, 4, 6])));
        let ids = ["1", "2", "3"].map(str::to_owned).to_vec();
        assert_eq!(read(text, Some("id")), Ok((ids, vec![2, 4, 6])));
    }

    /// Each key is in one part, where its first row is; rows without a key are in each. The size of
    /// all parts is one number.
    #[test]
    fn parts_have_the_rows_of_their_keys() {
        let mut text = "k\n".to_owned();
        for row in 0..200 {
            text += &format!(" K{}@x\n", row % 150);
        }
        text += "\n\0\n";
        for normalize in [KeyNormalization::None, KeyNormalization::Email] {
            let mut found = Vec::new();
            let missing = if normalize == KeyNormalization::None {
                1
            } else {
                2
            };
            for number in 1..=3 {
                let part = Some(Part::new(number, 3).expect("a part"));
                let args = KeyColumn {
                    normalize,
                    part,
                    ..COLUMN
                };
                let threads = NonZeroUsize::MIN;
                let read = read_column(text.as_bytes(), ("t.csv", None), args, threads);
                let table = Table::of(read.expect("a column"), "t.csv", args, threads);
                let table = table.expect("a table");
                assert!((20..=80).contains(&table.len()), "{}", table.len());
                assert_eq!(table.left_out.missing, missing);
                assert_eq!(table.all_keys, 202 - missing);
                found.extend(table.keys().map(str::to_owned));
            }
            found.sort_unstable();
            let count = found.len();
            found.dedup();
            assert_eq!((found.len(), count), (152 - missing, 152 - missing));
        }
    }

    /// Empty lines at the end of a file are no rows.
    #[test]
    fn an_empty_line_of_a_table_of_one_column_is_a_row() {
        let cells = ["a", "", "b"].map(str::to_owned).to_vec();
        for text in ["k\na\n\nb\n\n\n", "k\r\na\r\n\r\nb\r\n\r\n"] {
            assert_eq!(read(text, None), Ok((cells.clone(), vec![2, 3, 4])));
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, column, said) in [
            ("", None, "t.csv is empty"),
            (
                "a,b\n",
                None,
                "several columns; name one as in t.csv:NAME, of \"a\", \"b\"",
            ),
            (
                "mail,b\n",
                Some("mial"),
                "no column \"mial\"; did you mean \"mail\"?",
            ),
            ("a;b\n", Some("a"), "separated by commas"),
            ("a,a\n", Some("a"), "several columns \"a\""),
            (
                "a,b\n1,2\n3\n",
                Some("a"),
                "line 3 has 1 cells, and the first line 2",
            ),
        ] {
            let told = read(text, column).expect_err(said);
            assert!(told.contains(said), "{told}");
        }
        let latin = read_column(
            &b"a\nx\ny\xe9\n"[..],
            ("t.csv", None),
            COLUMN,
            NonZeroUsize::MIN,
        );
        let told = latin.expect_err("no UTF-8").to_string();
        assert!(told.contains("line 3"), "{told}");
    }

    #[test]
    fn a_column_is_named_behind_the_path() {
        for (text, expected) in [
            ("a.csv:email", ("a.csv", Some("email"))),
            ("C:\\a.CSV:e:mail", ("C:\\a.CSV", Some("e:mail"))),
            ("a.txt:email", ("a.txt", Some("email"))),
            ("a.csv", ("a.csv", None)),
            // As an input of a program reads it.
            ("a.csv:b.csv:id", ("a.csv:b.csv", Some("id"))),
        ] {
            assert_eq!(named(text), expected);
        }
    }
}
