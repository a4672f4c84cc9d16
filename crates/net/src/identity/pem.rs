//! PEM in the form that RFC 7468 asks parsers to accept: its section 3 with the grammar of figure
//! 2, explanatory text at the start, and the byte order mark that some editors write. Encoders are
//! strict.

use zeroize::Zeroizing;

const BEGIN: &[u8] = b"-----BEGIN ";
const DASHES: &[u8] = b"-----";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The greatest length of a label: `ENCRYPTED PRIVATE KEY` has 21 letters.
const MAX_LABEL: usize = 32;
/// The characters of a line of strict base64.
const COLUMNS: usize = 64;

/// A text in PEM.
pub(super) struct Pem<'f> {
    pub(super) label: String,
    pub(super) bytes: Zeroizing<Vec<u8>>,
    /// The text that follows at once, or nothing.
    pub(super) behind: &'f [u8],
}

/// Decodes the first text in `file`. The error shows none of it.
pub(super) fn decode(file: &[u8]) -> Result<Pem<'_>, String> {
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let begins = |place: &usize| *place == 0 || is_white(&file[place - 1]);
    let begin = places(file, BEGIN).find(begins);
    let begin = begin.ok_or("it is not in PEM: nothing in it begins with -----BEGIN")?;
    let rest = &file[begin + BEGIN.len()..];
    let label = places(rest, DASHES).next().map(|end| &rest[..end]);
    let label = label.and_then(|label| str::from_utf8(label).ok());
    // Any other text may be part of the key, which no error may show.
    let is_label = |label: &&str| {
        label.len() <= MAX_LABEL
            && label
                .bytes()
                .all(|byte| byte == b' ' || byte.is_ascii_uppercase())
    };
    let label = label.filter(is_label);
    let label = label.ok_or("its line -----BEGIN does not end with -----")?;
    let body = &rest[label.len() + DASHES.len()..];
    let close = format!("-----END {label}-----");
    let end = places(body, close.as_bytes()).next();
    let end = end.ok_or_else(|| format!("its line {close} is missing"))?;
    let behind = &body[end + close.len()..];
    let white = behind.iter().take_while(|byte| is_white(byte)).count();
    let behind = &behind[white..];
    if !behind.is_empty() && !behind.starts_with(BEGIN) {
        return Err(format!("something follows its line {close}"));
    }
    let digits = body[..end].iter().filter(|byte| !is_white(byte)).copied();
    let mut base64 = Zeroizing::new(Vec::with_capacity(end));
    base64.extend(digits);
    let mut strict = Zeroizing::new(Vec::with_capacity(2 * file.len() + BEGIN.len()));
    strict.extend_from_slice(&file[begin..begin + BEGIN.len() + label.len() + DASHES.len()]);
    strict.push(b'\n');
    for line in base64.chunks(COLUMNS) {
        strict.extend_from_slice(line);
        strict.push(b'\n');
    }
    strict.extend_from_slice(close.as_bytes());
    let decoded = pem_rfc7468::decode_vec(&strict);
    let (label, bytes) = decoded.map_err(|_| "between its two lines is no base64".to_owned())?;
    Ok(Pem {
        label: label.to_owned(),
        bytes: Zeroizing::new(bytes),
        behind,
    })
}

/// Returns the places of `wanted` in `bytes`.
fn places<'b>(bytes: &'b [u8], wanted: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    let windows = bytes.windows(wanted.len()).enumerate();
    windows.filter_map(move |(place, found)| (found == wanted).then_some(place))
}

/// Returns whether a byte is `W` of the grammar.
fn is_white(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c)
}
