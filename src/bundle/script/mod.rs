//! `repro.sh`: the experiment of a run as plain `docker`, `losetup`, `psql` and `pgbench` commands.
//!
//! Its beginning is made from the run: a comment, the figures of the profile, the settings of the nodes, the update.
//! The rest, `body.sh`, is the same for every run.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::disk::Room;
use crate::human::{self, shell_word};
use crate::image::ImageSource;
use crate::profile::{FaultKind, Iops, Machine, PRIMARY, Profile, Settings, Standby};
use crate::report;
use crate::store::{RunInfo, Summary, Timeline};

/// What follows the beginning.
const BODY: &str = include_str!("body.sh");

/// Why a run's experiment is not told as a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    /// Servers that were only watched.
    #[error("its servers were only watched: what happened to them was not the lab's doing")]
    Observed,
    /// A fault that the script does not know.
    #[error("its fault, {0}, is not one the script knows (kill-walreceiver, kill-walsender)")]
    Fault(FaultKind),
    /// More than one standby.
    #[error("it has {0} standbys, the script has one")]
    Standbys(usize),
    /// What the script needs was taken out of the run's files.
    #[error("what it runs holds something that was redacted")]
    Redacted,
}

/// The script for a run.
///
/// # Errors
/// When the script cannot express it.
pub fn script(run: &RunInfo, summary: &Summary, timeline: &Timeline) -> Result<String, Inexpressible> {
    let profile = run.profile().ok_or(Inexpressible::Observed)?;
    // What this server did not know, its nodes were not given.
    let profile = &profile.clone().without_settings(&run.server.unknown_settings);
    let fault = match profile.fault.kind {
        FaultKind::KillWalreceiver => "kill_walreceiver",
        FaultKind::KillWalsender => "kill_walsender",
        kind @ (FaultKind::RestartStandby | FaultKind::CrashStandby | FaultKind::CutNetwork) => {
            return Err(Inexpressible::Fault(kind));
        }
    };
    let standby = match profile.standby.as_slice() {
        [standby] => standby,
        several => return Err(Inexpressible::Standbys(several.len())),
    };
    let seconds = timeline.rows.last().map_or(0.0, |row| row.t_s);
    let sections = [
        comment(run, summary),
        figures(run, profile, standby, fault),
        shown(run, summary, seconds),
        machines(run, profile, standby),
        settings("settings_primary", &profile.effective_settings(PRIMARY)),
        settings("settings_standby", &profile.effective_settings(&standby.name)),
        text(
            "update_sql",
            "What each transaction of the update runs, on the accounts from :first to :last.",
            &profile.update_template(),
        ),
        text(
            "load_script",
            "The load's script for pgbench; nothing for pgbench's own, which is like TPC-B.",
            &profile.workload.script,
        ),
        BODY.trim_start().to_owned(),
    ];
    Ok(sections.join("\n"))
}

fn comment(run: &RunInfo, summary: &Summary) -> String {
    let mut lines = vec![
        one_line(&format!(
            "PostgreSQL {}, profile {}, {}",
            run.server.version,
            run.profile_name,
            run.arm_in_words()
        )),
        String::new(),
        format!(
            "Made by stall-lab {} from the run {} of {}, which showed:",
            run.lab_version, run.run_id, run.started
        ),
        one_line(&report::headline(run, summary)),
        String::new(),
        "Usage: sudo sh repro.sh           says what it makes and needs, and runs the experiment".to_owned(),
        "       sh repro.sh --plan         says it and does nothing".to_owned(),
        "       sudo IMAGE=... sh repro.sh  with another server image".to_owned(),
        "It ends with 0 when the experiment went through, and its last line has the figures.".to_owned(),
        String::new(),
    ];
    lines.extend(server(run).0);
    let comment: String = lines.iter().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect();
    format!("#!/bin/sh\n{comment}set -eu\n")
}

/// How to get the server, a line each, and the image to take unless another is asked for.
fn server(run: &RunInfo) -> (Vec<String>, String) {
    let server = &run.server;
    let version = server.version.split_whitespace().next().unwrap_or_default();
    let major = server.version_num / 10_000;
    let official = format!("postgres:{version}");
    let lines = |lines: &[String]| lines.iter().map(|line| one_line(line)).collect();
    match ImageSource::in_words(&server.source) {
        Some(ImageSource::Registry) => {
            (lines(&["The run's server was that of the official image.".to_owned()]), official)
        }
        Some(ImageSource::Debian | ImageSource::Host) => {
            let told = [
                format!("The run's server was {} from {}.", server.version, server.source),
                "The official image of the same version is the default. For the run's own, with stall-lab:"
                    .to_owned(),
                format!(
                    "stall-lab image build --postgres {major}, then IMAGE={} sh repro.sh",
                    server.image.as_deref().unwrap_or_default()
                ),
            ];
            (lines(&told), official)
        }
        Some(ImageSource::Prefix) => {
            let told = [
                format!(
                    "The run's server, {}, was a build under a prefix: there is no image of it to be had.",
                    server.version
                ),
                "From the same sources: stall-lab image build --pg-prefix DIR, then IMAGE=... sh repro.sh"
                    .to_owned(),
            ];
            (lines(&told), String::new())
        }
        Some(ImageSource::Image) | None => {
            let told = [
                format!(
                    "The run's server, {}, was that of an image given by name ({}).",
                    server.version,
                    server.image_id.as_deref().unwrap_or("not known")
                ),
                "Say which to take: IMAGE=... sh repro.sh".to_owned(),
            ];
            (lines(&told), String::new())
        }
    }
}

fn figures(run: &RunInfo, profile: &Profile, standby: &Standby, fault: &str) -> String {
    let (workload, update, watch) = (&profile.workload, &profile.update, &profile.watch);
    let room = Room::of(profile);
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let has_checksums = profile.postgres.data_checksums.are_on(run.server.version_num);
    let checksums = if has_checksums { "on" } else { "off" };
    let whole_s = |time: std::time::Duration| time.as_secs_f64().ceil();
    let mut text = String::new();
    let mut line = |words: String| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{words}");
    };
    line(format!("image=${{IMAGE:-{}}}", server(run).1));
    line("# Database and load: pgbench.".to_owned());
    line(format!("scale={} accounts={} checksums={checksums}", workload.scale, profile.accounts()));
    line(format!(
        "clients={} rate_tps={} baseline_s={}",
        workload.clients,
        workload.rate_tps,
        workload.baseline.as_secs_f64()
    ));
    line(format!(
        "batches={} batch_interval_s={} flush_deadline_s={}",
        update.batches,
        whole_s(update.batch_interval),
        whole_s(update.flush_deadline)
    ));
    line("# What breaks, and how long to look.".to_owned());
    line(format!("fault={fault} fault_after_s={}", profile.fault.after.as_secs_f64()));
    line(format!(
        "deadline_s={} tail_s={} stall_after_s={}",
        whole_s(watch.deadline),
        watch.tail.as_secs_f64(),
        watch.stall_after.as_secs_f64()
    ));
    line(format!("standby={}", standby.name));
    line(format!("synchronous_standby_names={}", shell_word(&profile.synchronous_standby_names())));
    line("# Sparse files, with room enough that a full disk never ends the experiment.".to_owned());
    line(format!("image_bytes={} need_mb={}", mebibytes(room.image) << 20, mebibytes(2 * room.node)));
    text
}

/// What the run showed, for the script to set beside what it shows.
fn shown(run: &RunInfo, summary: &Summary, seconds: f64) -> String {
    let not_known = || "not known".to_owned();
    let hang = summary.hang_s.map_or_else(not_known, |seconds| format!("{seconds:.1} s"));
    let prefetched = summary.prefetched_blocks.map_or_else(not_known, human::count);
    format!(
        "# What the run showed.\nrun_version={} run_hang={} run_prefetched={} run_s={seconds:.0}\n",
        shell_word(&run.server.version),
        shell_word(&hang),
        shell_word(&prefetched)
    )
}

fn machines(run: &RunInfo, profile: &Profile, standby: &Standby) -> String {
    let machine = |name: &str, machine: &Machine| {
        let cap = |iops: Iops| {
            iops.cap().filter(|_| !run.is_uncapped()).map_or_else(|| "''".to_owned(), |cap| cap.to_string())
        };
        format!(
            "{name}_cpus={} {name}_memory={} {name}_shm={}\n\
             {name}_read_iops={} {name}_write_iops={} {name}_read_ahead_kb={}\n",
            machine.cpus,
            machine.memory.0,
            machine.shm.0,
            cap(machine.read_iops),
            cap(machine.write_iops),
            machine.read_ahead_kb
        )
    };
    format!(
        "# The nodes: CPUs, memory and /dev/shm in bytes, operations a second of its disk, read-ahead.\n{}{}",
        machine("primary", &profile.primary),
        machine("standby", &standby.machine)
    )
}

/// A function that appends a node's settings to a command.
fn settings(function: &str, settings: &Settings) -> String {
    let mut text = format!(
        "# All other settings are the server's defaults.\n# shellcheck disable=SC2016\n\
         {function}() {{\n    \"$@\" -c wal_level=replica"
    );
    for (name, value) in settings {
        text += &format!(" \\\n        -c {}", shell_word(&format!("{name}={value}")));
    }
    text + "\n}\n"
}

/// A function that prints a text.
fn text(function: &str, what: &str, text: &str) -> String {
    // Nothing in it is the shell's to expand.
    let prints = if text.is_empty() {
        ":".to_owned()
    } else {
        format!("printf '%s\\n' '{}'", text.trim_end().replace('\'', r"'\''"))
    };
    format!("# {what}\n# shellcheck disable=SC2016\n{function}() {{\n    {prints}\n}}\n")
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Lines that a script of this run must hold for it to be the run's: none of them may be changed by redaction.
pub(super) fn is_whole(script: &str, redacted: &str) -> bool {
    let code = |text: &str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    code(script) == code(redacted)
}
