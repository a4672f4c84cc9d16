//! Makes the texts of keys alike before they are compared, in the joins of programs and in plain
//! matchings, at both parties.

use core::fmt;
use core::str::FromStr;

use zeroize::Zeroizing;

use self::forms::{composed, lower_case, plain};
use super::rows::extend_wiping;

mod forms;

/// The normalisation of a text before it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyNormalization {
    /// None: keys are compared by their bytes.
    #[default]
    None,
    /// Email addresses: without white space at both ends, in lower case and in the composed form
    /// NFC, all as defined by Unicode.
    Email,
    /// Telephone numbers: digits, after a `+` if the number has its country's code, as in
    /// `+49301234567`.
    Phone,
    /// Dates: year, month and day, as in `2024-03-31`.
    Date,
}

impl KeyNormalization {
    /// All normalisations.
    pub const ALL: [Self; 4] = [Self::None, Self::Email, Self::Phone, Self::Date];

    /// Returns the name in a program and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Date => "date",
        }
    }

    /// Returns the text in the form in which it is compared. The zeros at its end, which fill up a
    /// `text<n>`, are removed. All but [`None`](Self::None) also remove zeros and white space at
    /// both ends. Texts that Unicode defines as equal, such as é as one character and as two,
    /// become the same. A text that is no telephone number or no date becomes empty. Normalising
    /// twice is the same as normalising once.
    pub fn apply(self, text: &str) -> Zeroizing<String> {
        let inner = trimmed(text);
        match self {
            Self::None => Zeroizing::new(text.trim_end_matches('\0').to_owned()),
            // Such a text is in NFC in either case.
            Self::Email if inner.is_ascii() => Zeroizing::new(inner.to_ascii_lowercase()),
            // Equal texts are first composed, since lower case is defined character by character.
            // Lower case may then be another text to compose.
            Self::Email => composed(&lower_case(&composed(inner))),
            Self::Phone => phone(&plain(inner)).unwrap_or_default(),
            Self::Date => date(&plain(inner)).unwrap_or_default(),
        }
    }

    /// Appends the bytes of [`apply`](Self::apply), mostly without a text of their own.
    pub(super) fn append(self, text: &str, into: &mut Zeroizing<Vec<u8>>) {
        let begin = into.len();
        match self {
            Self::Email if text.is_ascii() => {
                extend_wiping(into, trimmed(text).as_bytes());
                into[begin..].make_ascii_lowercase();
            }
            _ => extend_wiping(into, self.apply(text).as_bytes()),
        }
    }
}

/// Returns a text without zeros and white space at both ends.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace())
}

impl fmt::Display for KeyNormalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for KeyNormalization {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|one| one.name() == text);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{text:?} is not known; write one of {names}")
        })
    }
}

/// Whether people write this character between the digits of a telephone number.
fn separates_digits(c: char) -> bool {
    let is_dash = matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}');
    is_dash || c.is_whitespace() || "-./()".contains(c)
}

/// Returns the digits of a telephone number. A `+` precedes them if the number begins with `+` or
/// `00`; a `(0)` in such a number is not dialled from abroad, and is left out.
fn phone(text: &str) -> Option<Zeroizing<String>> {
    let signs = || text.chars().filter(|c| !separates_digits(*c));
    let is_international = signs().next() == Some('+') || signs().take(2).eq("00".chars());
    let mut number = Zeroizing::new(String::with_capacity(text.len() + 1));
    let mut pieces = text.split("(0)");
    let between = if is_international { "" } else { "0" };
    number.extend(pieces.next()?.chars().filter(|c| !separates_digits(*c)));
    for piece in pieces {
        number.push_str(between);
        number.extend(piece.chars().filter(|c| !separates_digits(*c)));
    }
    let digits = if is_international {
        number.strip_prefix('+').or(number.strip_prefix("00"))?
    } else {
        &number
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut alike = Zeroizing::new(String::with_capacity(digits.len() + 1));
    alike.push_str(if is_international { "+" } else { "" });
    alike.push_str(digits);
    Some(alike)
}

/// Returns a date as in `2024-03-31`. Reads a year of four digits with month and day behind it,
/// with or without separators, or day, month and year between dots. Leaves out a time behind the
/// date. Other orders can be read in two ways.
fn date(text: &str) -> Option<Zeroizing<String>> {
    let end = text.find(['T', ' ']).unwrap_or(text.len());
    let (day, time) = text.split_at(end);
    let is_time = |c: char| c.is_ascii_digit() || "T :.,+-Z".contains(c);
    if !time.chars().all(is_time) {
        return None;
    }
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = if day.len() == 8 && is_number(day) {
        [&day[..4], &day[4..6], &day[6..]]
    } else {
        let separator = day.chars().find(|c| !c.is_ascii_digit())?;
        let mut parts = day.split(separator);
        let parts = [
            parts.next()?,
            parts.next()?,
            parts.next()?,
            parts.next().unwrap_or(""),
        ];
        match parts {
            [year, month, day, ""] if year.len() == 4 && "-/.".contains(separator) => {
                [year, month, day]
            }
            [day, month, year, ""] if year.len() == 4 && separator == '.' => [year, month, day],
            _ => return None,
        }
    };
    let number = |part: &str, most: u32| {
        let number = part.parse::<u32>().ok().filter(|_| is_number(part))?;
        (1..=most).contains(&number).then_some(number)
    };
    let (year, month) = (number(year, 9999)?, number(month, 12)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let day = number(day, days)?;
    Some(Zeroizing::new(format!("{year:04}-{month:02}-{day:02}")))
}
