//! What a node's machine says of itself: its disk's counters and its CPU time.
//!
//! `docker/probe.sh` runs in the node and answers each line on its input with one line:
//! `disk <fields of /sys/block/<device>/stat> cpu <usage> <unit>`, the unit being `ns` (cgroup v1,
//! `cpuacct.usage`) or `us` (cgroup v2, `usage_usec` of `cpu.stat`). What it cannot read is `-`.
//!
//! The device is the upper loop of the node's disk. Its counters are of *completed* requests of this node alone;
//! cgroup counters are not used for the disk: on v1 `blkio.throttle.io_serviced` counts at submission, before the
//! throttle, and on v2 the engine gives no operation counts.

use crate::store::{Cell, Column, Metric};

/// Size of a sector in `/sys/block/*/stat`, whatever the device's own (kernel: Documentation/block/stat.rst).
const SECTOR_BYTES: f64 = 512.0;

/// The probe's answer is not one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the probe in the node answered {answer:?}: {what}")]
pub struct MachineParseError {
    answer: String,
    what: &'static str,
}

/// The columns that [`machine_cells`] fills.
pub const TOTALS: [Metric; 6] = [
    Metric::ReadsTotal,
    Metric::ReadBytesTotal,
    Metric::WritesTotal,
    Metric::WriteBytesTotal,
    Metric::InFlight,
    Metric::CpuSecondsTotal,
];

/// Cells of one answer of the probe on `node`.
///
/// # Errors
/// When the line is not of the form above; a counter given as `-` is no error, its cells are left out.
pub fn machine_cells(node: &str, answer: &str) -> Result<Vec<(Column, Cell)>, MachineParseError> {
    let refuse = |what| MachineParseError { answer: answer.to_owned(), what };
    let (disk, cpu) = answer
        .trim()
        .strip_prefix("disk ")
        .and_then(|rest| rest.split_once(" cpu "))
        .ok_or_else(|| refuse("not of the form `disk ... cpu ...`"))?;
    let mut totals = Vec::with_capacity(TOTALS.len());
    if disk != "-" {
        let fields: Vec<f64> = disk
            .split_whitespace()
            .map(|field| field.parse::<u64>().map(|count| count as f64))
            .collect::<Result<_, _>>()
            .map_err(|_| refuse("the disk's fields are not all whole numbers"))?;
        let [reads, _, read_sectors, _, writes, _, write_sectors, _, in_flight, ..] = fields[..] else {
            return Err(refuse("the disk has fewer than nine fields"));
        };
        totals.extend([
            (Metric::ReadsTotal, reads),
            (Metric::ReadBytesTotal, read_sectors * SECTOR_BYTES),
            (Metric::WritesTotal, writes),
            (Metric::WriteBytesTotal, write_sectors * SECTOR_BYTES),
            (Metric::InFlight, in_flight),
        ]);
    }
    if cpu != "-" {
        let (usage, unit) = cpu.split_once(' ').ok_or_else(|| refuse("the CPU time has no unit"))?;
        let usage: u64 = usage.parse().map_err(|_| refuse("the CPU time is not a whole number"))?;
        let per_second = match unit {
            "ns" => 1e9,
            "us" => 1e6,
            _ => return Err(refuse("the CPU time's unit is neither ns nor us")),
        };
        totals.push((Metric::CpuSecondsTotal, usage as f64 / per_second));
    }
    Ok(totals.into_iter().map(|(metric, value)| (Column::new(node, metric), Cell::Number(value))).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn number(cells: &[(Column, Cell)], metric: &Metric) -> Option<f64> {
        cells.iter().find(|(column, _)| column.metric == *metric).and_then(|(_, cell)| cell.number())
    }

    #[test]
    fn cgroup_v1_counts_nanoseconds_and_the_disk_counts_sectors_of_512_bytes() {
        let answer = "disk 1279446 3 39939540 77 115102 9 2044 5 128 0 0 0 0 0 0 0 0 cpu 2500000000 ns";
        let cells = machine_cells("standby", answer).unwrap();
        assert_eq!(number(&cells, &Metric::ReadsTotal), Some(1_279_446.0));
        assert_eq!(number(&cells, &Metric::ReadBytesTotal), Some(39_939_540.0 * 512.0));
        assert_eq!(number(&cells, &Metric::WritesTotal), Some(115_102.0));
        assert_eq!(number(&cells, &Metric::WriteBytesTotal), Some(2044.0 * 512.0));
        assert_eq!(number(&cells, &Metric::InFlight), Some(128.0));
        assert_eq!(number(&cells, &Metric::CpuSecondsTotal), Some(2.5));
        assert!(cells.iter().all(|(column, _)| column.node == "standby" && TOTALS.contains(&column.metric)));
    }

    #[test]
    fn cgroup_v2_counts_microseconds() {
        let cells = machine_cells("primary", "disk 1 0 8 0 0 0 0 0 0 0 0 cpu 1500000 us\n").unwrap();
        assert_eq!(number(&cells, &Metric::CpuSecondsTotal), Some(1.5));
    }

    #[test]
    fn what_the_probe_cannot_read_is_left_out_and_not_zero() {
        let cells = machine_cells("standby", "disk - cpu -").unwrap();
        assert_eq!(cells, []);
    }

    #[test]
    fn an_answer_that_is_not_one_is_refused_with_the_answer() {
        for answer in [
            "",
            "sh: not found",
            "disk 1 2 3 cpu 1 ns",
            "disk a cpu -",
            "disk - cpu 5",
            "disk - cpu 5 ms",
            "disk - cpu x ns",
        ] {
            let error = machine_cells("standby", answer).unwrap_err();
            assert!(error.to_string().contains(&format!("{answer:?}")), "{error}");
        }
    }

    /// What the probe answers on a machine with these files in its sysfs.
    fn probed(files: &[(&str, &str)]) -> String {
        let sys = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = sys.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let probe = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/probe.sh");
        let mut child = Command::new("sh")
            .args([probe, "loop7", sys.path().to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    const STAT: (&str, &str) = ("block/loop7/stat", "  359 5 7264 0 9 0 16 3 128 0 0 0 0 0 0 0 0\n");

    #[test]
    fn the_probe_reads_both_versions_of_cgroups() {
        let v1 = probed(&[STAT, ("fs/cgroup/cpuacct/cpuacct.usage", "418720000\n")]);
        assert_eq!(number(&machine_cells("standby", &v1).unwrap(), &Metric::CpuSecondsTotal), Some(0.418_72));
        let cpu_stat = "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 0\n";
        let v2 = machine_cells("standby", &probed(&[STAT, ("fs/cgroup/cpu.stat", cpu_stat)])).unwrap();
        assert_eq!(number(&v2, &Metric::CpuSecondsTotal), Some(1.5));
        assert_eq!(number(&v2, &Metric::ReadsTotal), Some(359.0));
        assert_eq!(number(&v2, &Metric::InFlight), Some(128.0));
    }

    #[test]
    fn the_probe_says_what_it_cannot_read() {
        assert_eq!(probed(&[]), "disk - cpu -\n");
    }
}
