//! The machine on which a figure was measured.

use std::fs;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use tacit_kernels::Cpu;

/// The machine and the build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's name, if the system reports it.
    pub cpu: String,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The CPU's instructions that matter here.
    pub cpu_features: Vec<String>,
    /// The backends of the kernels that this CPU runs, slowest first.
    pub backends: Vec<String>,
    /// The architecture and the operating system.
    pub platform: String,
    /// The average number of processes that wanted a core during the last minute, before any
    /// measurement: well below 1 on an idle machine.
    pub load_average: Option<f64>,
    /// The commit that was built, with `+changes` if the measured code differed from it.
    pub commit: String,
    /// Whether the compiler optimised as for a release.
    pub optimised: bool,
}

/// Instructions that kernels use, under the system's names.
const FEATURES: [&str; 9] = [
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "avx2",
    "avx512f",
    "sha_ni",
    "bmi2",
    "gfni",
];

impl Machine {
    /// Returns the description of this machine.
    pub fn this() -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.split_once(':'));
            lines
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim())
        };
        let flags: Vec<&str> = field("flags").unwrap_or_default().split(' ').collect();
        let features = FEATURES.iter().filter(|feature| flags.contains(feature));
        Self {
            cpu: field("model name").unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            cpu_features: features.map(|feature| (*feature).to_owned()).collect(),
            backends: Cpu::available()
                .map(|cpu| cpu.backend().to_string())
                .collect(),
            platform: format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
            load_average: load_average(),
            commit: env!("TACIT_COMMIT").to_owned(),
            optimised: !cfg!(debug_assertions),
        }
    }
}

fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_knows_itself_and_goes_through_json() {
        let machine = Machine::this();
        assert!(machine.cores > 0 && !machine.commit.is_empty());
        assert!(machine.backends.contains(&"portable".to_owned()));
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }
}
