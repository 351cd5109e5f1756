//! Arms side by side, for a program to read.

use serde::Serialize;

use super::Arm;

/// A line of `comparison.csv`. An empty field is not known.
#[derive(Debug, Serialize)]
struct Record<'a> {
    arm: &'a str,
    folder: String,
    postgres: &'a str,
    capped: Option<bool>,
    verdict: String,
    hang_s: Option<f64>,
    hang_ended: Option<bool>,
    longest_gap_before_fault_s: Option<f64>,
    time_to_streaming_s: Option<f64>,
    read_iops_cap: Option<u64>,
    hang_read_iops_mean: Option<f64>,
    hang_read_iops_median: Option<f64>,
    hang_read_iops_peak: Option<f64>,
    hang_reads: Option<u64>,
    hang_read_bytes: Option<u64>,
    prefetched_blocks: Option<u64>,
    prefetched_share: Option<f64>,
    startup_reads: Option<u64>,
    lag_at_fault_bytes: Option<u64>,
    update_s: Option<f64>,
    update_wal_bytes: Option<u64>,
    amplification: Option<f64>,
    missed_ticks: u64,
}

/// `comparison.csv`: a row an arm.
///
/// # Errors
/// When a row cannot be serialised, which plain figures always can.
pub fn comparison_csv(arms: &[Arm]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for arm in arms {
        writer.serialize(record(arm))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn record<'a>(arm: &Arm<'a>) -> Record<'a> {
    let summary = arm.summary;
    Record {
        arm: &arm.run.arm,
        folder: arm.folder.display().to_string(),
        postgres: &arm.run.server.version,
        capped: arm.run.capped,
        verdict: summary.verdict.to_string(),
        hang_s: summary.hang_s,
        hang_ended: summary.hang_ended,
        longest_gap_before_fault_s: summary.longest_gap_before_fault_s,
        time_to_streaming_s: summary.time_to_streaming_s,
        read_iops_cap: summary.read_iops_cap,
        hang_read_iops_mean: summary.hang_read_iops_mean,
        hang_read_iops_median: summary.hang_read_iops_median,
        hang_read_iops_peak: summary.hang_read_iops_peak,
        hang_reads: summary.hang_reads,
        hang_read_bytes: summary.hang_read_bytes,
        prefetched_blocks: summary.prefetched_blocks,
        prefetched_share: summary.prefetched_share,
        startup_reads: summary.startup_reads,
        lag_at_fault_bytes: summary.lag_at_fault_bytes,
        update_s: summary.update_s,
        update_wal_bytes: summary.update_wal_bytes,
        amplification: summary.amplification,
        missed_ticks: summary.missed_ticks,
    }
}
