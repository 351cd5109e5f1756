//! The script as a shell sees it. That it shows the stall is proved with Docker, in `tests/bundle.rs`.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use super::*;
use crate::verdict::judge;
use crate::verdict::testing::Story;

fn of(story: &Story) -> Result<String, Inexpressible> {
    let summary = judge(&story.run, &story.timeline, &story.events);
    script(&story.run, &summary, &story.timeline)
}

/// All but what the script does when it is run, and then `commands`; what these print.
fn shell(script: &str, commands: &str) -> String {
    let (functions, _) = script.split_once("\nplan\nif [").unwrap();
    let output = Command::new("sh").args(["-c", &format!("{functions}\n{commands}")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_script_has_the_runs_figures() {
    let mut story = Story::stalled();
    story.run.server.source = ImageSource::Registry.to_string();
    let said = shell(
        &of(&story).unwrap(),
        "echo $image $scale $accounts $checksums $clients $rate_tps $fault $fault_after_s $stall_after_s $standby \
         $standby_read_iops $primary_cpus $standby_memory",
    );
    assert_eq!(said, "postgres:18.6 20 2000000 on 2 5 kill_walreceiver 3 10 standby 200 2 2147483648\n");
}

#[test]
fn what_a_shell_would_take_apart_reaches_the_servers_as_it_is() {
    let mut story = Story::stalled();
    story
        .run
        .profile_mut()
        .postgres
        .common
        .insert("search_path".to_owned(), "'; $(reboot) \\ \"x\"".to_owned());
    story.run.profile_mut().workload.update_sql =
        "UPDATE t SET a = '$HOME'\nWHERE id BETWEEN :first AND :last\n".to_owned();
    story.run.profile_mut().workload.script = "\\set aid random(1, 10)\nSELECT 'it''s';\n".to_owned();
    let script = of(&story).unwrap();
    let said = shell(&script, "settings_standby printf '<%s>'; echo; update_sql; load_script");
    assert_eq!(
        said,
        "<-c><wal_level=replica><-c><search_path='; $(reboot) \\ \"x\">\n\
         UPDATE t SET a = '$HOME'\nWHERE id BETWEEN :first AND :last\n\\set aid random(1, 10)\nSELECT 'it''s';\n"
    );
    check_shell(&script);
}

#[test]
fn every_script_passes_shellcheck() {
    let mut walsender = Story::no_stall();
    walsender.run.profile_mut().fault.kind = FaultKind::KillWalsender;
    walsender.run.capped = Some(false);
    for story in [Story::stalled(), walsender] {
        check_shell(&of(&story).unwrap());
    }
}

fn check_shell(script: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("repro.sh");
    std::fs::write(&file, script).unwrap();
    let parsed = Command::new("sh").arg("-n").arg(&file).output().unwrap();
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    match Command::new("shellcheck").arg(&file).output() {
        Ok(checked) => assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout)),
        Err(error) => eprintln!("shellcheck is skipped: {error}"),
    }
}

#[test]
fn a_run_without_caps_is_a_script_without_caps() {
    let mut story = Story::stalled();
    story.run.capped = Some(false);
    let said =
        shell(&of(&story).unwrap(), "echo \"[$primary_read_iops$standby_read_iops$standby_write_iops]\"");
    assert_eq!(said, "[]\n");
}

#[test]
fn the_official_image_is_the_default_of_stock_servers_and_others_have_to_be_named() {
    for (source, image) in [
        (ImageSource::Registry, "postgres:18.6"),
        (ImageSource::Debian, "postgres:18.6"),
        (ImageSource::Host, "postgres:18.6"),
        (ImageSource::Prefix, ""),
        (ImageSource::Image, ""),
    ] {
        let mut story = Story::stalled();
        story.run.server.source = source.to_string();
        let script = of(&story).unwrap();
        assert_eq!(shell(&script, "echo $image"), format!("{image}\n"), "{source}");
        // Whoever wants the run's own build, or has to name one, is told how.
        let told = script
            .lines()
            .take_while(|line| line.starts_with('#'))
            .any(|line| line.contains(" IMAGE=...") || line.contains("then IMAGE="));
        assert!(told, "{source}");
    }
}

#[test]
fn what_the_script_cannot_express_it_does_not_pretend_to() {
    for kind in [FaultKind::RestartStandby, FaultKind::CrashStandby, FaultKind::CutNetwork] {
        let mut story = Story::stalled();
        story.run.profile_mut().fault.kind = kind;
        assert_eq!(of(&story), Err(Inexpressible::Fault(kind)));
    }
    let mut story = Story::stalled();
    let other = Standby { name: "other".to_owned(), ..story.run.profile_mut().standby[0].clone() };
    story.run.profile_mut().standby.push(other);
    assert_eq!(of(&story), Err(Inexpressible::Standbys(2)));
}

#[test]
fn the_plan_is_said_without_doing_anything() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("repro.sh");
    std::fs::write(&file, of(&Story::stalled()).unwrap()).unwrap();
    let said = Command::new("sh").arg(&file).arg("--plan").env("PATH", "/usr/bin:/bin").output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(said.status.success() && text.contains("loop devices    four"), "{text}");
}

/// What `result` says of these seconds of pgbench, the fault being at 100: pairs of time and TPS. The standby reads 200
/// a second.
fn result(tps: &[(u32, f64)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let line = |(t, tps): &(u32, f64)| {
        format!("progress: {t}.000 s, {tps:.1} tps, lat 1.0 ms stddev 0.1, 0 failed\n")
    };
    let pgbench: String = tps.iter().map(line).collect();
    std::fs::write(dir.path().join("pgbench"), format!("pgbench (18.6)\n{pgbench}")).unwrap();
    let row =
        |(t, _): &(u32, f64)| format!("{t}.100|{}|{}|0|41|DataFilePrefetch\n", 5_000 + 200 * t, 100 * t);
    std::fs::write(dir.path().join("standby"), tps.iter().map(row).collect::<String>()).unwrap();
    let commands = format!("docker() {{ :; }}\ndir={} fault_at=100\nresult", dir.path().display());
    let said = shell(&of(&Story::stalled()).unwrap(), &commands);
    said.lines().last().unwrap().to_owned()
}

#[test]
fn the_hang_is_the_longest_time_without_a_commit_after_the_fault_and_its_reads_are_those_within_it() {
    let flowing = (95..101).map(|t| (t, 5.0));
    let hung = flowing.clone().chain((101..=120).map(|t| (t, 0.0))).chain([(121, 90.0), (122, 5.0)]);
    assert_eq!(
        result(&hung.collect::<Vec<_>>()),
        "RESULT stalled=yes hang_s=20.0 reads_a_second=200.0 cap=200 prefetched=12200"
    );
    let quiet = flowing.chain([(101, 0.0), (102, 4.0), (103, 5.0), (104, 0.0), (105, 1.0)]);
    let said = result(&quiet.collect::<Vec<_>>());
    assert!(said.starts_with("RESULT stalled=no hang_s=1.0 "), "{said}");
}

#[test]
fn a_gap_before_the_fault_counts_from_the_fault_on() {
    let slow = (90..=97).map(|t| (t, 1.0)).chain((98..=115).map(|t| (t, 0.0))).chain([(116, 5.0)]);
    let said = result(&slow.collect::<Vec<_>>());
    assert!(said.starts_with("RESULT stalled=yes hang_s=15.0 "), "{said}");
}

#[test]
fn a_run_without_any_gap_has_no_hang() {
    let said = result(&(95..120).map(|t| (t, 5.0)).collect::<Vec<_>>());
    assert!(said.starts_with("RESULT stalled=no hang_s=0.0 reads_a_second=- "), "{said}");
}
