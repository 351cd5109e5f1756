//! The cap is proved, not assumed: what the engine says it set, and what a probe measures.

use std::time::Duration;

use super::node::Node;
use crate::disk::PGDATA;
use crate::docker::{DockerError, Engine, ExecSpec, Limits};
use crate::store::CapProof;

/// The probe's script.
const SCRIPT: &str = include_str!("../../docker/cap-probe.sh");

/// Least seconds the probe measures for.
const SECONDS: u64 = 2;

/// Least reads it measures: of fewer, one more or less would be too great a share.
const READS: u64 = 100;

/// Readers side by side: enough that the disk below, not their waiting, would have to be what limits them.
const READERS: u64 = 16;

/// How long the probe may take. A queue that is full when it starts is drained at the cap first.
const DEADLINE: Duration = Duration::from_secs(60);

/// The measured rate may differ from the cap by this share of it.
const TOLERANCE: f64 = 0.05;

/// How often the probe is made before its result is believed to be the disk's fault: a machine that is busy for a moment
/// disturbs one, a cap that does not hold is missed by all.
const PROBES: u32 = 3;

/// Why a cap was not believed.
#[derive(Debug, thiserror::Error)]
pub enum CapError {
    /// The engine took the limits and reports others.
    #[error("{node}: asked for {asked}, the engine reports {reported}. Its kernel cannot keep these limits")]
    NotKept {
        /// The node.
        node: String,
        /// What was asked for.
        asked: String,
        /// What the engine reports.
        reported: String,
    },
    /// The disk is faster or slower than its cap.
    #[error(
        "{node}: its disk is capped at {cap} reads a second and gave {measured:.1}, in the last of {PROBES} probes. {}",
        if measured > &(*cap as f64) {
            "The cap does not hold: this engine's kernel does not throttle loop devices by container, or the machine is too \
             busy to measure"
        } else {
            "The disk below is slower than the cap, or the machine too busy: lower read_iops in the profile, use a faster \
             disk, or wait until the machine is quiet"
        }
    )]
    NotTrue {
        /// The node.
        node: String,
        /// The cap.
        cap: u64,
        /// What the probe measured.
        measured: f64,
    },
    /// The probe could not be run.
    #[error("{node}: the probe of its disk failed: {why}")]
    Probe {
        /// The node.
        node: String,
        /// Why.
        why: String,
    },
    /// The engine could not be asked.
    #[error(transparent)]
    Docker(#[from] DockerError),
}

/// Compares the limits that were asked for with those the engine reports.
pub(super) fn compare(node: &str, asked: &Limits, reported: &Limits) -> Result<(), CapError> {
    // shm_bytes is kept by a mount, not by a limit of the kernel's.
    let kept = asked.cpus == reported.cpus
        && asked.memory_bytes == reported.memory_bytes
        && asked.read_iops == reported.read_iops
        && asked.write_iops == reported.write_iops;
    if kept {
        return Ok(());
    }
    Err(CapError::NotKept { node: node.to_owned(), asked: in_words(asked), reported: in_words(reported) })
}

fn in_words(limits: &Limits) -> String {
    let rates = |rates: &[crate::docker::DeviceRate]| {
        let words: Vec<String> =
            rates.iter().map(|rate| format!("{} on {}", rate.iops, rate.device)).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    let number = |number: Option<String>| number.unwrap_or_else(|| "none".to_owned());
    format!(
        "CPUs {}, memory {}, read IOPS {}, write IOPS {}",
        number(limits.cpus.map(|cpus| cpus.to_string())),
        number(limits.memory_bytes.map(|bytes| bytes.to_string())),
        rates(&limits.read_iops),
        rates(&limits.write_iops)
    )
}

/// Proves that the node's disk gives as many reads a second as its cap allows, and no more.
pub(super) async fn prove(engine: &Engine, node: &Node, cap: u64) -> Result<CapProof, CapError> {
    let mut judged = judge(&node.name, cap, probe(engine, node, cap).await?);
    for _ in 1..PROBES {
        if judged.is_ok() {
            break;
        }
        judged = judge(&node.name, cap, probe(engine, node, cap).await?);
    }
    judged
}

/// Measures the reads a second that the node's disk really gives.
async fn probe(engine: &Engine, node: &Node, cap: u64) -> Result<CapProof, CapError> {
    let seconds = SECONDS.max(READS.div_ceil(cap));
    let deadline = DEADLINE + Duration::from_secs(seconds);
    let (seconds, readers) = (seconds.to_string(), READERS.to_string());
    let base = format!("{PGDATA}/base");
    let args = ["sh", "-c", SCRIPT, "cap-probe.sh", node.disk.upper_name(), &base, &seconds, &readers];
    let output = engine.exec(&node.container, &ExecSpec::new(args), None, deadline).await?;
    let failed = |why: &str| CapError::Probe { node: node.name.clone(), why: why.trim().to_owned() };
    if output.exit_code != 0 {
        return Err(failed(&output.stderr));
    }
    parse(&output.stdout).ok_or_else(|| failed(&output.stdout))
}

/// `reads READS centiseconds CENTISECONDS`
fn parse(output: &str) -> Option<CapProof> {
    let (reads, centiseconds) = output.trim().strip_prefix("reads ")?.split_once(" centiseconds ")?;
    let reads: u64 = reads.parse().ok()?;
    let seconds =
        centiseconds.parse::<u32>().ok().filter(|time| *time > 0).map(|time| f64::from(time) / 100.0)?;
    Some(CapProof { read_iops: reads as f64 / seconds, reads, seconds })
}

fn judge(node: &str, cap: u64, proof: CapProof) -> Result<CapProof, CapError> {
    if (proof.read_iops / cap as f64 - 1.0).abs() > TOLERANCE {
        return Err(CapError::NotTrue { node: node.to_owned(), cap, measured: proof.read_iops });
    }
    Ok(proof)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::docker::DeviceRate;

    fn limits(read_iops: u64) -> Limits {
        let device = "/dev/loop4".to_owned();
        Limits {
            cpus: Some(2.0),
            memory_bytes: Some(8 << 30),
            shm_bytes: Some(1 << 30),
            read_iops: vec![DeviceRate { device, iops: read_iops }],
            write_iops: vec![],
        }
    }

    #[test]
    fn a_cap_the_engine_dropped_in_silence_is_an_error_with_both_figures() {
        assert!(compare("standby", &limits(200), &limits(200)).is_ok());
        let error = compare("standby", &limits(200), &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("read IOPS 200 on /dev/loop4"), "{error}");
        assert!(error.contains("the engine reports CPUs none, memory none, read IOPS none"), "{error}");
    }

    #[test]
    fn the_probes_answer_is_reads_over_seconds() {
        let proof = parse("reads 401 centiseconds 200\n").unwrap();
        assert_eq!((proof.reads, proof.seconds, proof.read_iops), (401, 2.0, 200.5));
        for other in ["", "reads 5", "reads 5 centiseconds 0", "reads x centiseconds 200"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_rate_within_five_percent_of_the_cap_is_believed_and_no_other() {
        let proof = |read_iops| CapProof { read_iops, reads: 1, seconds: 1.0 };
        assert!(judge("standby", 200, proof(209.0)).is_ok());
        assert!(judge("standby", 200, proof(191.0)).is_ok());
        let fast = judge("standby", 200, proof(5_000.0)).unwrap_err().to_string();
        assert!(
            fast.contains(
                "capped at 200 reads a second and gave 5000.0, in the last of 3 probes. The cap does not hold"
            ),
            "{fast}"
        );
        let slow = judge("standby", 20_000, proof(9_000.0)).unwrap_err().to_string();
        assert!(slow.contains("slower than the cap"), "{slow}");
    }
}
