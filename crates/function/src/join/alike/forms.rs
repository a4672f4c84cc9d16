//! The normal forms of Unicode. They are the same everywhere: Unicode never changes the forms of a
//! text whose characters are all assigned. In a page they come from the browser, since the tables
//! would be a tenth of what the page loads. Copies of the text then stay in JavaScript's memory,
//! where the page has it already.

use zeroize::Zeroizing;

/// Returns a text in NFC.
pub(super) fn composed(text: &str) -> Zeroizing<String> {
    if text.is_ascii() {
        return Zeroizing::new(text.to_owned());
    }
    tables::composed(text)
}

/// Returns a text in NFKC, in which digits of other widths are those of ASCII.
pub(super) fn plain(text: &str) -> Zeroizing<String> {
    if text.is_ascii() {
        return Zeroizing::new(text.to_owned());
    }
    tables::plain(text)
}

/// Returns a text in lower case.
pub(super) fn lower_case(text: &str) -> Zeroizing<String> {
    tables::lower_case(text)
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod tables {
    use unicode_normalization::UnicodeNormalization as _;
    use zeroize::Zeroizing;

    /// The most bytes in NFC, and in NFKC, for each byte of a text in UTF-8 (UAX 15, "Stability of
    /// normalization forms").
    const MOST_COMPOSED: [usize; 2] = [3, 11];

    pub(super) fn composed(text: &str) -> Zeroizing<String> {
        // The room suffices, so that the text never moves and leaves no copy.
        let mut composed = Zeroizing::new(String::with_capacity(MOST_COMPOSED[0] * text.len()));
        composed.extend(text.nfc());
        composed
    }

    pub(super) fn plain(text: &str) -> Zeroizing<String> {
        let mut plain = Zeroizing::new(String::with_capacity(MOST_COMPOSED[1] * text.len()));
        plain.extend(text.nfkc());
        plain
    }

    pub(super) fn lower_case(text: &str) -> Zeroizing<String> {
        Zeroizing::new(text.to_lowercase())
    }
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod tables {
    use js_sys::JsString;
    use zeroize::Zeroizing;

    pub(super) fn composed(text: &str) -> Zeroizing<String> {
        Zeroizing::new(JsString::from(text).normalize("NFC").into())
    }

    pub(super) fn plain(text: &str) -> Zeroizing<String> {
        Zeroizing::new(JsString::from(text).normalize("NFKC").into())
    }

    pub(super) fn lower_case(text: &str) -> Zeroizing<String> {
        Zeroizing::new(JsString::from(text).to_lower_case().into())
    }
}
