//! The memory that the system allows this process: the smallest limit of its control groups, of
//! versions 1 and 2. The system kills a process that takes more.
//!
//! | version | line of `/proc/self/cgroup` | limit under `/sys/fs/cgroup` |
//! |---|---|---|
//! | 2 | `0::PATH` | `PATH/memory.max`, or below `unified` |
//! | 1 | `N:…,memory,…:PATH` | `memory/PATH/memory.limit_in_bytes` |
//!
//! The limits of all parent groups apply, too. In a container that sees its own group as the root,
//! `PATH` may be a path of the host: then the root has the limit.

use std::fs;
use std::path::{Path, PathBuf};

/// The memory of a process that is not counted otherwise: its code, sessions, compiled functions.
const RESERVED: u64 = 32 << 20;
/// The fraction of the limit that is reserved, if that is more.
const RESERVED_SHARE: u64 = 8;
/// Version 1 writes about 2^63 for no limit.
const NO_LIMIT: u64 = 1 << 60;

/// Returns the limit in bytes, if there is one.
#[must_use]
pub fn allowed() -> Option<u64> {
    allowed_under(Path::new("/"))
}

/// Returns the part of a limit that is left for counted memory.
#[must_use]
pub fn left_of(allowed: u64) -> u64 {
    allowed.saturating_sub(RESERVED.max(allowed / RESERVED_SHARE))
}

fn allowed_under(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounted = root.join("sys/fs/cgroup");
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next(), fields.next());
        let (places, file) = match controllers {
            Some("") => (vec![mounted.clone(), mounted.join("unified")], "memory.max"),
            Some(named) if named.split(',').any(|one| one == "memory") => {
                (vec![mounted.join("memory")], "memory.limit_in_bytes")
            }
            _ => (Vec::new(), ""),
        };
        let path = Path::new(path.unwrap_or_default());
        let of_place = |place: PathBuf| {
            let above = path
                .ancestors()
                .filter_map(|group| limit(&place, group, file));
            above.min()
        };
        places.into_iter().filter_map(of_place).collect::<Vec<_>>()
    });
    limits.min()
}

/// Returns the limit of one group.
fn limit(place: &Path, group: &Path, file: &str) -> Option<u64> {
    let group = group.strip_prefix("/").unwrap_or(group);
    let text = fs::read_to_string(place.join(group).join(file)).ok()?;
    // `max` is no number and means no limit.
    text.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_the_groups_above_counts() {
        const MIB: u64 = 1 << 20;
        let container = ("sys/fs/cgroup/memory.max", "125829120\n");
        for (groups, files, expected) in [
            // A container with a group namespace, and one that sees the host's path.
            ("0::/\n", vec![container], Some(120 * MIB)),
            ("0::/kubepods/pod7/c9\n", vec![container], Some(120 * MIB)),
            // A unit of systemd whose slice has a lower limit.
            (
                "0::/system.slice/tacit.service\n",
                vec![
                    (
                        "sys/fs/cgroup/system.slice/tacit.service/memory.max",
                        "max\n",
                    ),
                    ("sys/fs/cgroup/system.slice/memory.max", "1073741824\n"),
                ],
                Some(1024 * MIB),
            ),
            // Version 1, alone and next to version 2.
            (
                "12:cpu,cpuacct:/a\n5:hugetlb,memory:/docker/c9\n0::/b\n",
                vec![
                    (
                        "sys/fs/cgroup/memory/docker/c9/memory.limit_in_bytes",
                        "134217728\n",
                    ),
                    (
                        "sys/fs/cgroup/memory/memory.limit_in_bytes",
                        "9223372036854771712\n",
                    ),
                    ("sys/fs/cgroup/cpu/a/memory.limit_in_bytes", "1\n"),
                ],
                Some(128 * MIB),
            ),
            (
                "0::/b\n",
                vec![("sys/fs/cgroup/unified/b/memory.max", "67108864\n")],
                Some(64 * MIB),
            ),
            (
                "0::/b\n",
                vec![("sys/fs/cgroup/b/memory.max", "max\n")],
                None,
            ),
            ("0::/b\n", vec![], None),
            ("nonsense", vec![container], None),
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let all = [&[("proc/self/cgroup", groups)], &files[..]].concat();
            for (file, text) in all {
                let path = root.path().join(file);
                fs::create_dir_all(path.parent().expect("a folder")).expect("room");
                fs::write(path, text).expect("room");
            }
            assert_eq!(allowed_under(root.path()), expected, "{groups}");
        }
        assert_eq!(allowed_under(Path::new("/nowhere")), None);
    }
}
