//! `REPORT.md`: what PostgreSQL's bug reporting guidelines ask for, in their order, and facts alone.

use crate::bundle::facts;
use crate::bundle::part::Part;
use crate::bundle::redact::Counts;
use crate::human;
use crate::profile::Profile;
use crate::report::{Table, faulted, headline, observed, or_none, or_not_known};
use crate::store::{EventKind, RunInfo, Subject, Summary, Verdict};

use super::{fault, has_images, prefetches, redaction};

/// The report of one run.
pub(in crate::bundle) fn report(part: &Part, redacted: &Counts) -> String {
    let (run, summary) = (&part.analysed.run, &part.analysed.summary);
    let sections = [
        format!("# {}\n", title(run, summary)),
        format!("## What was done\n\n{}", done(part)),
        format!("## What was expected\n\n{}", expected_in_short(run, summary)),
        format!("## What was seen\n\n{}\n{}\n![Timeline](timeline.png)\n", seen(run, summary), figures(part)),
        format!("## Versions, platform, settings\n\n{}", environment(run)),
        format!("## To repeat it\n\n{}", repeat(part)),
        format!("## Files\n\n{}\n{}", contents(part), redaction(redacted)),
    ];
    sections.join("\n")
}

fn title(run: &RunInfo, summary: &Summary) -> String {
    let version = run.server.version.split_whitespace().next().unwrap_or_default();
    if run.observed().is_some() {
        return format!("PostgreSQL {version}: {} on servers that were watched", summary.verdict);
    }
    let arm = run.arm_in_words();
    match (summary.verdict, summary.hang_s) {
        (Verdict::Stalled, Some(hang_s)) => {
            format!(
                "PostgreSQL {version}: no commit for {} after a fault of the standby ({arm})",
                human::seconds(hang_s)
            )
        }
        (verdict, _) => format!("PostgreSQL {version}: {verdict} after a fault of the standby ({arm})"),
    }
}

fn done(part: &Part) -> String {
    match &part.analysed.run.subject {
        Subject::Profile(profile) => steps(part, profile),
        Subject::Observed(watched) => {
            let lines: String = observed::setup(watched).iter().map(|line| format!("- {line}\n")).collect();
            format!(
                "Servers that the lab did not build were watched.\n\n{lines}\n{}",
                observed::servers(watched)
            )
        }
    }
}

fn steps(part: &Part, profile: &Profile) -> String {
    let workload = &profile.workload;
    let has_checksums = profile.postgres.data_checksums.are_on(part.analysed.run.server.version_num);
    let checksums = if has_checksums { "with" } else { "without" };
    let standbys: Vec<&str> = profile.standby.iter().map(|standby| standby.name.as_str()).collect();
    let synchronous = match profile.synchronous_standby_names() {
        none if none.is_empty() => "no synchronous standby".to_owned(),
        names => format!("`synchronous_standby_names = '{names}'` once it streamed"),
    };
    let load = if workload.script.is_empty() {
        "pgbench's own script"
    } else {
        "the profile's script (`workload.script` in `run.json`)"
    };
    let (transactions, update) = match profile.batches().next() {
        Some(all) if profile.update.batches == 1 => {
            ("One transaction".to_owned(), profile.update_statement(all))
        }
        _ => (
            format!("{} transactions, each over its range of `aid`", profile.update.batches),
            profile.update_template(),
        ),
    };
    let after = human::seconds(profile.fault.after.as_secs_f64());
    let mut steps = [
        format!(
            "`initdb` {checksums} data checksums and `pgbench -i -s {}`; the server was stopped cleanly and its data \
             directory copied.",
            workload.scale
        ),
        format!(
            "`postgres -D` on the data directory (the primary) and on its copy with `standby.signal` ({}), each in a \
             container with a disk of its own and the limits in `platform.txt`; {synchronous}.",
            standbys.join(" and ")
        ),
        "`CHECKPOINT` on the primary.".to_owned(),
        format!(
            "`pgbench -n -c {} -R {}` on the primary, {load}: {} alone, then beside all that follows.",
            workload.clients,
            workload.rate_tps,
            human::seconds(workload.baseline.as_secs_f64())
        ),
        format!("{transactions}: `{}`", update.replace(['\n', '\r'], " ").trim()),
        format!("{after} after the standby had flushed all of its WAL: {}.", fault(profile)),
    ];
    let evidence = part.analysed.events.iter().find(|event| event.kind == EventKind::FaultVerified);
    if let (Some(evidence), Some(last)) = (evidence, steps.last_mut()) {
        *last += &format!(" Evidence: {}", evidence.detail.replace(['\n', '\r'], " "));
    }
    steps.iter().enumerate().map(|(at, step)| format!("{}. {step}\n", at + 1)).collect()
}

fn expected_in_short(run: &RunInfo, summary: &Summary) -> String {
    let reads = if prefetches(run, faulted(run, summary)) && has_images(run) {
        " Replay of the WAL on the standby's disk reads no page that a full-page image in this WAL replaces."
    } else {
        ""
    };
    format!(
        "The standby connects again and commits go on within seconds; none waits {} or longer.{reads} \
         [expected.md](expected.md) says why, and what `repro.sh` should print.\n",
        human::seconds(run.stall_after().as_secs_f64())
    )
}

fn seen(run: &RunInfo, summary: &Summary) -> String {
    let reasons: String = summary.reasons.iter().map(|reason| format!("- {reason}\n")).collect();
    let gap = if reasons.is_empty() { "" } else { "\n" };
    format!("**{}**\n{gap}{reasons}", headline(run, summary))
}

fn figures(part: &Part) -> String {
    let (run, summary) = (&part.analysed.run, &part.analysed.summary);
    if run.observed().is_some() {
        return observed::figures(run, summary, &part.analysed.events);
    }
    let standby = faulted(run, summary);
    let count = |value| or_not_known(value, human::count);
    let size = |value: Option<u64>| or_not_known(value, |bytes| human::bytes(bytes as f64));
    let seconds = |value| or_not_known(value, human::seconds);
    let mut table = Table::new(["figure", "value"]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("longest time without a commit after the fault", crate::report::hang_in_words(summary));
    row("from the fault until the standby streamed again", seconds(summary.time_to_streaming_s));
    row(
        "longest time without a commit from the update to the fault",
        seconds(summary.longest_gap_before_fault_s),
    );
    row("WAL of the update", size(summary.update_wal_bytes));
    row(&format!("WAL not replayed by {standby} at the fault"), size(summary.lag_at_fault_bytes));
    row(&format!("reads of the disk of {standby} without a commit"), count(summary.hang_reads));
    row("... a second, mean", or_not_known(summary.hang_read_iops_mean, human::rate));
    row("... cap", or_none(summary.read_iops_cap));
    row("... mean size", or_not_known(summary.hang_read_bytes_mean, human::bytes));
    row("`pg_stat_recovery_prefetch.prefetch` since the update", count(summary.prefetched_blocks));
    row("`pg_stat_io` reads of the startup process since the update", count(summary.startup_reads));
    table.render()
}

fn environment(run: &RunInfo) -> String {
    let server = &run.server;
    let files: Vec<String> =
        run.nodes.iter().map(|node| format!("[{0}]({0})", facts::settings_file(node))).collect();
    let machine = match &run.platform {
        Some(platform) => format!(
            "kernel {}, {}, {}; {}, cgroup v{}; [platform.txt](platform.txt)\n- both servers, pgbench and the \
             measurement share this machine",
            platform.kernel, platform.os, platform.arch, platform.engine, platform.cgroup_version
        ),
        None => "the machines are not known: the lab did not build these servers".to_owned(),
    };
    let uncapped =
        if run.is_uncapped() { "- **UNCAPPED: no disk of this run was held to anything.**\n" } else { "" };
    format!(
        "{uncapped}- PostgreSQL {} (`server_version_num` {}), {}; [versions.txt](versions.txt)\n- {machine}\n\
         - every setting that differs from the server's default: {}\n",
        server.version,
        server.version_num,
        server.source,
        files.join(", ")
    )
}

fn repeat(part: &Part) -> String {
    let by_lab = "With stall-lab, the command is in `run.json` (`command_line`).\n";
    match &part.script {
        Ok(()) => format!(
            "`sudo sh repro.sh` runs the same with `docker`, `losetup`, `psql` and `pgbench`, prints a line a second, \
             and removes what it made; `sh repro.sh --plan` says what that is. {by_lab}"
        ),
        Err(why) => format!("There is no `repro.sh`: {why}. {by_lab}"),
    }
}

fn contents(part: &Part) -> String {
    let logs = match part.logs.as_slice() {
        [] => "no server logs: the folder of this run has none".to_owned(),
        logs => format!("`logs/`: {}", logs.join(", ")),
    };
    let lines = [
        "`timeline.csv`: every counter of every node, a row a second; `events.csv`: what happened, on its clock"
            .to_owned(),
        "`summary.json`: the figures; `run.json`: the profile, versions, limits and proofs".to_owned(),
        "[expected.md](expected.md): what was expected; [analysis.md](analysis.md): interpretation, not facts".to_owned(),
        logs,
    ];
    lines.iter().map(|line| format!("- {line}\n")).collect()
}
