//! Long runs and much WAL, in memory that does not grow with them.
//!
//! What a process needs at most is asked of the kernel, so each of these is alone in a process of its own.
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::experiment::{Ending, run};
use crate::fake::{FakeLab, Mishap, Script};
use crate::measure::Clock;
use crate::profile::Profile;
use crate::store::{RunFolder, WalModel};
use crate::wal::{Ranges, RelationNames, Survey};

/// By how much more memory the long part may need than the short one, kB.
const MORE_KB: u64 = 8 << 10;

/// The most memory this process ever had, kB.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs one of the tests below that are ignored otherwise, in a process of its own.
#[track_caller]
fn alone(name: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("endurance::{name}"), "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn twelve_hours_need_no_more_memory_than_one() {
    alone("twelve_hours_after_one");
}

async fn hours(hours: u64) {
    let mut profile = Profile::load("smoke", &[]).unwrap();
    profile.watch.deadline = Duration::from_secs(hours * 3_600);
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::at(dir.path());
    let (rows, _) = watch::channel(None);
    let (lab, clock) =
        (FakeLab::new(Script::stalling().with(Mishap::NeverStreams)), Clock::start_virtual(1.8e9));
    let ending = run(&lab, &profile, &folder, clock, &rows, &CancellationToken::new()).await.unwrap();
    assert_eq!(ending, Ending::GaveUp);
    let lines = std::fs::read_to_string(folder.timeline_path()).unwrap().lines().count() as u64;
    assert!(lines > hours * 3_600, "{lines} lines");
}

#[tokio::test(start_paused = true)]
#[ignore = "alone in a process of its own: see above"]
async fn twelve_hours_after_one() {
    hours(1).await;
    let before_kb = peak_kb();
    hours(12).await;
    // The file is read whole to count its lines: 12 hours are some 5 MB.
    let grown_kb = peak_kb() - before_kb;
    assert!(grown_kb < MORE_KB + (8 << 10), "{grown_kb} kB more than {before_kb} kB");
}

#[test]
fn ten_times_the_wal_needs_no_more_memory() {
    alone("three_gigabytes_after_a_tenth_of_it");
}

/// Lines as of an update that touches three rows of each page: an image, then two references to the same page.
fn feed(survey: &mut Survey, pages: std::ops::Range<u32>) {
    const WAL_OF_PAGE: u64 = 8_340 + 2 * 72;
    for page in pages {
        let lsn = (1_u64 << 30) + u64::from(page) * WAL_OF_PAGE;
        for (at, length, image) in [(0, 8_340, " FPW"), (8_340, 72, ""), (8_412, 72, "")] {
            let lsn = lsn + at;
            survey.line(&format!(
                "rmgr: Heap        len (rec/tot):     72/ {length:>5}, tx:        765, lsn: {:X}/{:08X}, prev \
                 0/01790198, desc: HOT_UPDATE old_xmax: 765, old_off: 53, blkref #0: rel 1663/5/16399 blk {page}{image}",
                lsn >> 32,
                lsn & 0xffff_ffff,
            ));
        }
    }
}

#[test]
#[ignore = "alone in a process of its own: see above"]
fn three_gigabytes_after_a_tenth_of_it() {
    let model = WalModel {
        shared_buffers_pages: 16_384,
        maintenance_io_concurrency: 10,
        wal_decode_buffer_bytes: 512 << 10,
        read_ahead_pages: 16,
    };
    let mut survey = Survey::new(model, &Ranges::whole());
    feed(&mut survey, 0..36_000);
    let before_kb = peak_kb();
    feed(&mut survey, 36_000..360_000);
    let grown_kb = peak_kb() - before_kb;
    let account = survey.finish(&RelationNames::new(), 1.0);
    assert_eq!((account.records, account.unknown_lines), (3 * 360_000, 0));
    assert!(account.to_lsn - account.from_lsn > 3_000_000_000);
    assert!(grown_kb < MORE_KB, "{grown_kb} kB more than {before_kb} kB");
}
