//! Folders of results: cut, foreign, of a newer lab, with values that cannot be.

use std::path::Path;

use super::{FAILED, assert_refused, recorded_run, stall_lab};

/// What is done to a file of the recorded outage, and what is said of it.
pub(crate) struct Damage {
    file: &'static str,
    to: fn(&str) -> String,
    words: &'static [&'static str],
}

const fn damage(file: &'static str, to: fn(&str) -> String, words: &'static [&'static str]) -> Damage {
    Damage { file, to, words }
}

/// The text with something in this line replaced.
fn in_line(text: &str, number: usize, change: impl Fn(&str) -> String) -> String {
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| if at + 1 == number { change(line) } else { line.to_owned() } + "\n").collect()
}

/// A line with its first fields replaced.
fn begins(line: &str, fields: &str) -> String {
    let count = fields.split(',').count();
    std::iter::once(fields).chain(line.split(',').skip(count)).collect::<Vec<_>>().join(",")
}

pub(crate) const REFUSED: &[Damage] = &[
    damage("run.json", |_| String::new(), &["run/run.json: EOF", "reads its files only as it wrote them"]),
    damage("run.json", |text| text[..500].to_owned(), &["run/run.json: EOF", "line 2"]),
    damage("run.json", |_| "[]".to_owned(), &["run/run.json: "]),
    damage("run.json", |_| "hello".to_owned(), &["run/run.json: expected value at line 1"]),
    damage("run.json", |_| "[".repeat(100_000), &["run/run.json: recursion limit exceeded"]),
    damage(
        "run.json",
        |_| r#"{"schema": 99}"#.to_owned(),
        &["written by a newer lab (layout 99", "use that lab"],
    ),
    damage("run.json", |_| r#"{"schema": 18446744073709551615}"#.to_owned(), &["written by a newer lab"]),
    damage("run.json", |_| r#"{"schema": "1"}"#.to_owned(), &["run/run.json: invalid type: string \"1\""]),
    damage(
        "run.json",
        |text| text.replace("\"run_id\"", "\"runid\""),
        &["run/run.json: missing field `run_id`"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"kill-walreceiver\"", "\"nap\""),
        &["run/run.json: unknown variant `nap`"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"role\": \"primary\"", "\"role\": \"standby\""),
        &["a run has one primary, this has 0"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"role\": \"standby\"", "\"role\": \"primary\""),
        &["a run has one primary, this has 2"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"name\": \"standby\"", "\"name\": \"primary\""),
        &["\"primary\" is there twice"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"node\": \"standby\"", "\"node\": \"x\""),
        &["there is no standby \"x\""],
    ),
    damage(
        "run.json",
        |text| text.replace("\"read_iops_cap\": 500", "\"read_iops_cap\": 0"),
        &["capped at 0 reads"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"read_iops_cap\": 500", "\"read_iops_cap\": -5"),
        &["run/run.json: invalid value"],
    ),
    damage(
        "run.json",
        |text| text.replace("\"started\": \"2026", "\"started\": \"20266"),
        &["run/run.json: "],
    ),
    damage("timeline.csv", |_| "hello".to_owned(), &["run/timeline.csv:1: it holds no line"]),
    damage("timeline.csv", |_| "\n".to_owned(), &["run/timeline.csv:1: there is no column tick"]),
    damage("timeline.csv", |_| "a,b\n1,2\n".to_owned(), &["run/timeline.csv:1: there is no column tick"]),
    damage(
        "timeline.csv",
        |text| text.replacen("phase", "fase", 1),
        &["run/timeline.csv:1: there is no column phase"],
    ),
    damage(
        "timeline.csv",
        |text| text.replacen("primary_latency_ms", "primary_tps", 1),
        &["run/timeline.csv:1: the column primary_tps is there twice"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| line.replace(',', ";")),
        &["timeline.csv: CSV error: record 4 (line: 5", "found record with 1 fields"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "4,NaN")),
        &["run/timeline.csv:5: NaN is no time of a run"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "4,inf")),
        &["run/timeline.csv:5: inf is no time of a run"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "4,1e300")),
        &["run/timeline.csv:5: 1e300 is no time of a run"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "4,4.0,1e300")),
        &["run/timeline.csv:5: 1e300 is no time since 1970"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "4,x")),
        &["run/timeline.csv:5: \"x\" is not a number"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "4.5")),
        &["run/timeline.csv:5: \"4.5\" is not the number of a tick"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "99999999999999999999")),
        &["run/timeline.csv:5: \"99999999999999999999\" is not the number of a tick"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| begins(line, "2")),
        &["run/timeline.csv:5: tick 2 at", "does not follow the row before it"],
    ),
    damage(
        "timeline.csv",
        |text| in_line(text, 5, |line| line.replacen("baseline", "lunch", 1)),
        &["run/timeline.csv:5: \"lunch\" is not a phase"],
    ),
    damage(
        "timeline.csv",
        |text| {
            text.lines()
                .take(1)
                .chain(text.lines().skip(1).collect::<Vec<_>>().into_iter().rev())
                .map(|line| format!("{line}\n"))
                .collect()
        },
        &["does not follow the row before it"],
    ),
    damage("events.csv", |_| "hello\n".to_owned(), &["run/events.csv:1: there is no column t_s"]),
    damage("events.csv", |_| "hello".to_owned(), &["run/events.csv:1: it holds no line"]),
    damage(
        "events.csv",
        |text| text.replacen("kind", "sort", 1),
        &["run/events.csv:1: there is no column kind"],
    ),
    damage(
        "events.csv",
        |text| text.replace("fault-verified", "fault-guessed"),
        &["run/events.csv:", "unknown variant `fault-guessed`"],
    ),
    damage(
        "events.csv",
        |text| in_line(text, 3, |line| begins(line, "NaN")),
        &["run/events.csv:3: NaN is no time of a run"],
    ),
    damage(
        "events.csv",
        |text| in_line(text, 3, |line| begins(line, "-inf")),
        &["run/events.csv:3: -inf is no time of a run"],
    ),
    damage(
        "events.csv",
        |text| in_line(text, 3, |line| begins(line, "3,-5")),
        &["run/events.csv:3: -5.0 is no time since 1970"],
    ),
    damage(
        "events.csv",
        |text| in_line(text, 3, |_| "3".to_owned()),
        &["events.csv: CSV error: record 2 (line: 3", "found record with 1 fields"],
    ),
    damage("wal.json", |_| "{}".to_owned(), &["run/wal.json: missing field `model`"]),
    damage("wal.json", |_| "{\"model\": ".to_owned(), &["run/wal.json: EOF"]),
    damage("comparison.json", |_| "x".to_owned(), &["run/comparison.json: expected value"]),
    damage(
        "comparison.json",
        |_| r#"{"runs": []}"#.to_owned(),
        &["run/comparison.json: a comparison is of two runs or more, this lists 0"],
    ),
    damage(
        "comparison.json",
        |_| r#"{"runs": ["."]}"#.to_owned(),
        &["a comparison is of two runs or more, this lists 1"],
    ),
];

/// The recorded outage with a file of it changed.
fn damaged(dir: &Path, damage: &Damage) {
    let file = recorded_run(dir).join(damage.file);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let changed = (damage.to)(&text);
    assert_ne!(text, changed, "nothing was changed, which should give {:?}", damage.words);
    std::fs::write(&file, changed).unwrap();
}

#[test]
fn a_damaged_file_is_named_with_its_line_and_nothing_is_written() {
    for damage in REFUSED {
        let dir = tempfile::tempdir().unwrap();
        damaged(dir.path(), damage);
        assert_refused(dir.path(), &["plot", "run"], FAILED, damage.words);
        assert!(!dir.path().join("run/README.md").exists(), "{:?}", damage.words);
    }
}

#[test]
fn a_missing_file_is_named_with_those_that_belong_to_it() {
    for (missing, words) in [
        (
            &["timeline.csv"][..],
            "run/timeline.csv is missing: a run is read from its run.json, timeline.csv and",
        ),
        (&["events.csv"], "run/events.csv is missing"),
        (&["events.csv", "timeline.csv"], "run holds a run that ended before anything was recorded"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let run = recorded_run(dir.path());
        missing.iter().for_each(|file| std::fs::remove_file(run.join(file)).unwrap());
        assert_refused(dir.path(), &["plot", "run"], FAILED, &[words]);
    }
    let dir = tempfile::tempdir().unwrap();
    let run = recorded_run(dir.path());
    std::fs::write(run.join("comparison.json"), r#"{"runs": [".", "../gone"]}"#).unwrap();
    assert_refused(dir.path(), &["plot", "run"], super::USAGE, &["run/../gone has neither run.json nor"]);
}

#[test]
fn bytes_that_are_no_text_are_said_to_be_none() {
    for file in ["run.json", "timeline.csv", "events.csv"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(recorded_run(dir.path()).join(file), [0xff, 0xfe, b'\n']).unwrap();
        let words = format!("run/{file}: stream did not contain valid UTF-8");
        assert_refused(dir.path(), &["plot", "run"], FAILED, &[&words]);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded_run(dir.path());
    for file in ["summary.json", "timeline.png", "README.md"] {
        std::fs::create_dir(run.join(file)).unwrap();
        assert_refused(dir.path(), &["plot", "run"], FAILED, &[&format!("run/{file}: ")]);
        std::fs::remove_dir(run.join(file)).unwrap();
    }
    std::fs::write(dir.path().join("out"), "").unwrap();
    assert_refused(dir.path(), &["compare", "run", "run", "--out", "out"], FAILED, &["out: File exists"]);
}

/// Files that a killed lab may leave, or that say nothing: they are drawn, and nothing is made of them.
#[test]
fn a_file_that_ends_early_is_drawn_and_says_that_nothing_is_known() {
    type Cut = (&'static str, fn(&str) -> String);
    let cut: &[Cut] = &[
        ("timeline.csv", |_| String::new()),
        ("timeline.csv", |text| text.lines().next().unwrap().to_owned() + "\n"),
        ("timeline.csv", |text| text[..50_000].to_owned()),
        ("timeline.csv", |text| text.replace("primary_tps", "primary_gossip")),
        ("events.csv", |_| String::new()),
        ("events.csv", |text| text.lines().next().unwrap().to_owned() + "\n"),
        ("events.csv", |text| text[..text.len() / 2].to_owned()),
    ];
    for (file, to) in cut {
        let dir = tempfile::tempdir().unwrap();
        let path = recorded_run(dir.path()).join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, to(&text)).unwrap();
        let output = stall_lab(dir.path(), &["plot", "run"]).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(stdout.starts_with("inconclusive: "), "{file}: {stdout}");
        assert!(dir.path().join("run/timeline.png").exists());
    }
}
