//! What Mood, Gupta, Butler and Feigenbaum published (CCS 2014, section 6), as data.

use std::collections::BTreeMap;

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

const fn seconds(
    cmtb_phone: [f64; 3],
    phone: [f64; 3],
    cmtb_server: [f64; 3],
    server: [f64; 3],
) -> Option<PublishedSeconds> {
    Some(PublishedSeconds {
        cmtb_phone,
        phone,
        cmtb_server,
        server,
    })
}

/// The rows of Tables 1 to 4.
pub(crate) const PUBLISHED: [Published; 11] = [
    Published {
        name: "KeyedDB 64",
        function: ("database-lookup", "entries", 64),
        gates: [Some(6_080), Some(20_891)],
        seconds: seconds(
            [18.0, 72.0, 290.0],
            [3.5, 8.3, 26.0],
            [6.6, 27.0, 110.0],
            [1.4, 5.1, 24.9],
        ),
        client_bytes: Some([64_992_308, 3_590_416]),
    },
    Published {
        name: "KeyedDB 128",
        function: ("database-lookup", "entries", 128),
        gates: [Some(12_160), Some(26_971)],
        seconds: seconds(
            [33.0, 140.0, 580.0],
            [4.4, 9.5, 31.0],
            [13.0, 54.0, 220.0],
            [1.8, 5.8, 27.9],
        ),
        client_bytes: Some([129_744_948, 3_590_416]),
    },
    Published {
        name: "KeyedDB 256",
        function: ("database-lookup", "entries", 256),
        gates: [Some(24_320), Some(39_131)],
        seconds: seconds(
            [65.0, 270.0, 1200.0],
            [4.6, 12.0, 38.0],
            [25.0, 110.0, 420.0],
            [2.5, 7.3, 33.5],
        ),
        client_bytes: Some([259_250_228, 3_590_416]),
    },
    Published {
        name: "MatrixMult8x8",
        function: ("matrix-product", "n", 8),
        gates: [Some(3_060_802), Some(3_305_113)],
        seconds: seconds(
            [48.0, 110.0, 400.0],
            [46.0, 100.0, 370.0],
            [42.0, 94.0, 300.0],
            [41.0, 79.0, 310.0],
        ),
        client_bytes: Some([71_238_860, 35_027_980]),
    },
    Published {
        name: "Edit Distance 128",
        function: ("edit-distance", "x_symbols", 128),
        gates: [Some(1_434_888), Some(1_464_490)],
        seconds: seconds(
            [21.0, 47.0, 120.0],
            [22.0, 50.0, 180.0],
            [18.0, 40.0, 120.0],
            [18.0, 40.0, 150.0],
        ),
        client_bytes: Some([2_615_651, 4_108_045]),
    },
    Published {
        name: "Millionaires 8192",
        function: ("millionaires", "bits", 8192),
        gates: [Some(49_153), Some(78_775)],
        seconds: seconds(
            [35.0, 140.0, 580.0],
            [7.3, 20.0, 70.0],
            [13.0, 52.0, 220.0],
            [3.2, 8.5, 38.4],
        ),
        client_bytes: Some([155_377_267, 67_071_757]),
    },
    substring("LCS Incremental 128", 128, [4_053_870, 87_236]),
    substring("LCS Incremental 256", 256, [8_077_676, 160_322]),
    substring("LCS Incremental 512", 512, [16_125_291, 306_368]),
    whole_substring("LCS Full 128", 128, 2_978_854),
    whole_substring("LCS Full 256", 256, 13_177_739),
];

const fn substring(name: &'static str, length: u64, gates: [u64; 2]) -> Published {
    Published {
        name,
        function: ("substring-next", "length", length),
        gates: [Some(gates[0]), Some(gates[1])],
        seconds: None,
        client_bytes: None,
    }
}

const fn whole_substring(name: &'static str, length: u64, gates: u64) -> Published {
    Published {
        name,
        function: ("longest-common-substring", "x_symbols", length),
        gates: [Some(gates), None],
        seconds: None,
        client_bytes: None,
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
