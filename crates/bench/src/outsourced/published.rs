//! What Mood, Gupta, Butler and Feigenbaum published (CCS 2014, section 6), as data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::table::numbers;

/// A program of their tables.
pub(crate) struct Published {
    /// What they call it.
    pub(crate) name: &'static str,
    /// What it is here: the function, and the parameter that tells its sizes apart.
    function: (&'static str, &'static str, u64),
    /// Table 1: gates that are not XOR, of CMTB and of PartialGC. Nothing where there is no figure.
    pub(crate) gates: [Option<u64>; 2],
    /// Tables 2 and 4: seconds with 16, 64 and 256 circuits.
    pub(crate) seconds: Option<PublishedSeconds>,
    /// Table 3: bytes of the thin client with 256 circuits, of CMTB and of PartialGC.
    pub(crate) client_bytes: Option<[u64; 2]>,
}

/// Seconds with 16, 64 and 256 circuits.
#[derive(Clone, Copy)]
pub(crate) struct PublishedSeconds {
    /// Table 2: CMTB, with a phone as evaluator.
    pub(crate) cmtb_phone: [f64; 3],
    /// Table 2: PartialGC, with a phone.
    pub(crate) phone: [f64; 3],
    /// Table 4: CMTB, with a server process as evaluator.
    pub(crate) cmtb_server: [f64; 3],
    /// Table 4: PartialGC, with a server process.
    pub(crate) server: [f64; 3],
}

/// Numbers of circuits, as [`PublishedSeconds`] has them.
pub(crate) const COPIES: [u32; 3] = [16, 64, 256];

/// Tables 1 to 4, a line a row with the fields in order, and seconds as [`PublishedSeconds`] has
/// them.
const ROWS: &str = "\
KeyedDB 64 | database-lookup | entries | 64 | 6080 | 20891 \
| 18 72 290 | 3.5 8.3 26 | 6.6 27 110 | 1.4 5.1 24.9 | 64992308 3590416
KeyedDB 128 | database-lookup | entries | 128 | 12160 | 26971 \
| 33 140 580 | 4.4 9.5 31 | 13 54 220 | 1.8 5.8 27.9 | 129744948 3590416
KeyedDB 256 | database-lookup | entries | 256 | 24320 | 39131 \
| 65 270 1200 | 4.6 12 38 | 25 110 420 | 2.5 7.3 33.5 | 259250228 3590416
MatrixMult8x8 | matrix-product | n | 8 | 3060802 | 3305113 \
| 48 110 400 | 46 100 370 | 42 94 300 | 41 79 310 | 71238860 35027980
Edit Distance 128 | edit-distance | x_symbols | 128 | 1434888 | 1464490 \
| 21 47 120 | 22 50 180 | 18 40 120 | 18 40 150 | 2615651 4108045
Millionaires 8192 | millionaires | bits | 8192 | 49153 | 78775 \
| 35 140 580 | 7.3 20 70 | 13 52 220 | 3.2 8.5 38.4 | 155377267 67071757
LCS Incremental 128 | substring-next | length | 128 | 4053870 | 87236
LCS Incremental 256 | substring-next | length | 256 | 8077676 | 160322
LCS Incremental 512 | substring-next | length | 512 | 16125291 | 306368
LCS Full 128 | longest-common-substring | x_symbols | 128 | 2978854 | –
LCS Full 256 | longest-common-substring | x_symbols | 256 | 13177739 | –";

/// The rows of Tables 1 to 4.
pub(crate) static PUBLISHED: LazyLock<Vec<Published>> =
    LazyLock::new(|| ROWS.lines().map(row).collect());

fn row(line: &'static str) -> Published {
    let cells: Vec<&str> = line.split(" | ").collect();
    let [
        name,
        function,
        parameter,
        value,
        cmtb,
        partial,
        ref measured @ ..,
    ] = cells[..]
    else {
        panic!("{line:?} has six cells");
    };
    let (seconds, client_bytes) = match measured {
        [cmtb_phone, phone, cmtb_server, server, client_bytes] => {
            let seconds = PublishedSeconds {
                cmtb_phone: numbers(cmtb_phone),
                phone: numbers(phone),
                cmtb_server: numbers(cmtb_server),
                server: numbers(server),
            };
            (Some(seconds), Some(numbers(client_bytes)))
        }
        _ => (None, None),
    };
    Published {
        name,
        function: (function, parameter, value.parse().expect("a value")),
        gates: [cmtb, partial].map(|gates| gates.parse().ok()),
        seconds,
        client_bytes,
    }
}

impl Published {
    /// Whether it is this function.
    pub(crate) fn is(&self, function: &str, parameters: &BTreeMap<String, u64>) -> bool {
        let (name, parameter, value) = self.function;
        name == function && parameters.get(parameter) == Some(&value)
    }
}

/// What they have for a function.
pub(crate) fn published(
    function: &str,
    parameters: &BTreeMap<String, u64>,
) -> Option<&'static Published> {
    let mut all = PUBLISHED.iter();
    all.find(|published| published.is(function, parameters))
}

/// Section 6.3 and Figure 7: seconds of one operation of the friend finder with 256 circuits, by
/// cells. The figure's text has a third of three minutes for 2048 cells.
pub(crate) fn friend_finder_seconds(cells: u64) -> Option<f64> {
    match cells {
        64 | 256 => Some(30.0),
        2048 => Some(60.0),
        _ => None,
    }
}

impl PublishedSeconds {
    /// PartialGC's with a server process as evaluator, for this many circuits.
    pub(crate) fn server_at(&self, copies: u32) -> Option<f64> {
        let place = COPIES.iter().position(|known| *known == copies)?;
        Some(self.server[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speedups_are_those_that_the_paper_prints() {
        // Tables 2 and 4, at 256 circuits; and Table 3.
        let known = [
            (0, 11.0, 4.4, 18.0),
            (2, 32.0, 13.0, 72.0),
            (4, 0.67, 0.8, 0.64),
            (5, 8.3, 5.7, 2.3),
        ];
        for (row, phone, server, bytes) in known {
            let row = &PUBLISHED[row];
            let seconds = row.seconds.expect("a row of Table 2");
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.05;
            assert!(near(seconds.cmtb_phone[2] / seconds.phone[2], phone));
            assert!(near(seconds.cmtb_server[2] / seconds.server[2], server));
            let [cmtb, partial] = row.client_bytes.expect("a row of Table 3");
            assert!(near(cmtb as f64 / partial as f64, bytes), "{}", row.name);
        }
    }
}
