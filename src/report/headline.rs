//! The result in a sentence or two.

use crate::human;
use crate::store::{RunInfo, Summary, Verdict};

use super::{after_the_fault, faulted, hang_in_words, plural};

/// The verdict and the figures that carry it, for the terminal and the top of a page.
#[must_use]
pub fn headline(run: &RunInfo, summary: &Summary) -> String {
    let uncapped = if run.is_uncapped() { "UNCAPPED, " } else { "" };
    let sentences = match summary.verdict {
        Verdict::Stalled => stalled(run, summary),
        Verdict::NoStall => no_stall(run, summary),
        Verdict::Inconclusive => inconclusive(summary),
    };
    format!("{uncapped}{}: {sentences}", summary.verdict)
}

fn stalled(run: &RunInfo, summary: &Summary) -> String {
    // Sessions that wait for no standby may go on.
    let none = if run.observed().is_some() { "no synchronous commit" } else { "no commit" };
    let mut text = format!("{none} for {} {}", hang_in_words(summary), after_the_fault(run));
    if let Some(lag) = summary.lag_at_fault_bytes {
        text += &format!(" with {} of WAL left to replay", human::bytes(lag as f64));
    }
    text.push('.');
    if let Some(mean) = summary.hang_read_iops_mean {
        let standby = faulted(run, summary);
        text += &format!(" In that time {standby} read {}", human::rate(mean));
        if let Some(cap) = summary.read_iops_cap {
            text += &format!(", {} of its cap of {cap}/s", human::percent(mean / cap as f64));
        }
        text += ".";
    }
    if let Some(wait) = &summary.hang_wait {
        let (standby, share) = (faulted(run, summary), human::percent(wait.share));
        text += &format!(" The startup process of {standby} waited for {} in {share} of it.", wait.event);
    }
    text
}

fn no_stall(run: &RunInfo, summary: &Summary) -> String {
    let longest = match summary.hang_s {
        Some(hang_s) if hang_s > 0.0 => format!("the longest gap was {}", human::seconds(hang_s)),
        Some(_) => "no second without one".to_owned(),
        None => "the longest gap is not known".to_owned(),
    };
    let streaming = match summary.time_to_streaming_s {
        Some(seconds) => {
            format!("; {} streamed again after {}", faulted(run, summary), human::seconds(seconds))
        }
        None => String::new(),
    };
    format!("commits went on {} ({longest}){streaming}.", after_the_fault(run))
}

fn inconclusive(summary: &Summary) -> String {
    match summary.reasons.as_slice() {
        [] => "no reason was noted.".to_owned(),
        [only] => format!("{only}."),
        [first, rest @ ..] => format!("{first} (and {}).", plural(rest.len(), "more reason")),
    }
}
