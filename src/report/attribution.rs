//! Why replay took as long as it did, in words.

use crate::explain::{Cost, Explanation, Part, Prediction};
use crate::human;
use crate::profile::Prefetch;
use crate::store::{BlockCounts, Stretch};

use super::markdown::Table;
use super::or_not_known;

/// Relations that a table shows.
const RELATIONS: usize = 8;

/// What `explain` prints, and the page of a run has as its attribution.
#[must_use]
pub fn attribution(explanation: &Explanation) -> String {
    let mut sections = vec![format!("{}\n", sentence(explanation))];
    if explanation.backlog.is_some() {
        sections.push(format!("Reads and time, by the WAL and as measured:\n\n{}", costs(explanation)));
    }
    if let Some(part) = told(explanation) {
        sections.push(format!("{}\n\n{}", lead(part), references(explanation, part)));
        sections.push(relations(part));
    }
    if !explanation.notes.is_empty() {
        sections.push(explanation.notes.iter().map(|note| format!("- {note}\n")).collect());
    }
    sections.join("\n")
}

/// What the WAL of a run says of a larger one.
#[must_use]
pub fn prediction(profile: &str, prediction: &Prediction) -> String {
    let cap = prediction.read_iops_cap;
    let mut table = Table::new(["", profile]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("rows the update changes, times the run's", human::ratio(prediction.factor));
    row("recovery_prefetch", prediction.recovery_prefetch.to_string());
    row("WAL of the update", human::bytes(prediction.wal_bytes as f64));
    row("reads of pages to replay it", human::count(prediction.page_reads));
    row("from the start of the update to the fault", human::seconds(prediction.until_fault_s));
    row("reads left at the fault", human::count(prediction.predicted_reads));
    row("... of WAL that memory could not keep", human::count(prediction.wal_reads));
    row(&format!("time they take at {cap}/s: the hang"), human::seconds(prediction.predicted_replay_s));
    table.render()
}

/// The answer in a sentence or two.
fn sentence(explanation: &Explanation) -> String {
    let Some(backlog) = &explanation.backlog else {
        return "What the reads were good for is not known.".to_owned();
    };
    let (counts, cost) = (&backlog.range.total, backlog.cost(explanation.recovery_prefetch));
    if cost.reads == 0 {
        return idle(explanation);
    }
    match (explanation.recovery_prefetch, explanation.needless_read_share) {
        (Prefetch::Off, _) => format!(
            "**Every read was needed:** nothing was prefetched, and replay read {} pages itself, in {} reads.",
            human::count(counts.needed_pages),
            human::count(cost.reads)
        ),
        (Prefetch::Try | Prefetch::On, Some(share)) if share > 0.0 => format!(
            "**{} of the reads that {} replay up were for pages that replay {}.** {}",
            human::percent(share),
            tense(explanation, "held", "hold"),
            tense(explanation, "overwrote", "overwrites"),
            without(backlog)
        ),
        (Prefetch::Try | Prefetch::On, _) => format!(
            "**Every page that was read was needed:** none came with an image, or was initialised, before. {}",
            without(backlog)
        ),
    }
}

/// There was no backlog to read for: what the update took, and would have taken otherwise.
fn idle(explanation: &Explanation) -> String {
    let nothing = "**Replay had nothing to read** when the fault came.".to_owned();
    let Some(update) = &explanation.update else { return nothing };
    let cost = update.cost(explanation.recovery_prefetch);
    let (needless, prefetching) = (update.range.total.needless_reads, update.with_prefetch.reads);
    let otherwise = match explanation.recovery_prefetch {
        Prefetch::Off if prefetching > 0 => format!(
            ", and with prefetching {}, {} of them for pages that replay overwrites",
            human::count(prefetching),
            human::percent(needless as f64 / prefetching as f64)
        ),
        _ => String::new(),
    };
    format!("{nothing} The update had taken it {} reads{otherwise}.", human::count(cost.reads))
}

/// What the same would cost without prefetching. An advice is for one page; where replay reads for itself, the kernel
/// reads ahead.
fn without(part: &Part) -> String {
    let cost = part.without_prefetch;
    if cost.reads == 0 {
        return "Without prefetching there would be none.".to_owned();
    }
    let needed = human::count(part.range.total.needed_pages);
    let pages = format!("{} for the {needed} pages that replay needs", human::count(cost.page_reads));
    let wal = format!("{} of WAL that memory did not keep until its replay", human::count(cost.wal_reads));
    let kinds: Vec<String> = [(cost.page_reads, pages), (cost.wal_reads, wal)]
        .into_iter()
        .filter_map(|(reads, words)| (reads > 0).then_some(words))
        .collect();
    let time = cost.replay_s.map(|s| format!(", {} at the cap", human::seconds(s))).unwrap_or_default();
    let (reads, kinds) = (human::count(cost.reads), kinds.join(" and "));
    format!("Without prefetching the same WAL would take {reads} reads{time}: {kinds}.")
}

fn tense<'a>(explanation: &Explanation, past: &'a str, present: &'a str) -> &'a str {
    if explanation.arm.is_some() { past } else { present }
}

fn costs(explanation: &Explanation) -> String {
    let cap = explanation.read_iops_cap.map_or_else(|| "no cap".to_owned(), |cap| format!("{cap}/s"));
    let mut table = Table::new([
        "stretch of WAL".to_owned(),
        "WAL".to_owned(),
        "recovery_prefetch".to_owned(),
        "reads".to_owned(),
        format!("time at {cap}"),
    ]);
    let time = |cost: &Cost| or_not_known(cost.replay_s, human::seconds);
    for part in [&explanation.update, &explanation.backlog].into_iter().flatten() {
        let name = name(part.range.stretch);
        let size = human::bytes(part.range.bytes() as f64);
        for (setting, cost) in [("try", &part.with_prefetch), ("off", &part.without_prefetch)] {
            table.row([name, &size, setting, &human::count(cost.reads), &time(cost)]);
        }
        if explanation.arm.is_some() {
            let replay_s = explanation.measured_replay_s.filter(|_| part.range.stretch == Stretch::Backlog);
            table.row([
                name,
                &size,
                &format!("measured, {}", explanation.recovery_prefetch),
                &or_not_known(part.measured_reads, human::count),
                &replay_s.map_or_else(String::new, human::seconds),
            ]);
        }
    }
    table.render()
}

/// The stretch whose block references are told: the backlog, or the update where there was next to none.
fn told(explanation: &Explanation) -> Option<&Part> {
    let looked_at = |part: &&Part| part.range.records > 0;
    let backlog = explanation.backlog.as_ref().filter(looked_at);
    match (backlog, explanation.update.as_ref().filter(looked_at)) {
        (Some(backlog), Some(update)) if backlog.range.records * 20 < update.range.records => Some(update),
        (backlog, update) => backlog.or(update),
    }
}

fn lead(part: &Part) -> String {
    format!("What a prefetcher makes of the block references of {}:", name(part.range.stretch))
}

fn name(stretch: Stretch) -> &'static str {
    match stretch {
        Stretch::Update => "the update",
        Stretch::Backlog => "the backlog at the fault",
        Stretch::Whole => "all of it",
    }
}

/// The model's counts, beside the server's own where it prefetched.
fn references(explanation: &Explanation, part: &Part) -> String {
    let of_backlog = part.range.stretch == Stretch::Backlog;
    let counted = explanation
        .measured
        .prefetch
        .filter(|counters| of_backlog && counters.image + counters.prefetches > 0);
    let counts = &part.range.total;
    let header = ["the page", "`pg_stat_recovery_prefetch`", "by the WAL"];
    let mut table = Table::new(header.into_iter().chain(counted.map(|_| "as the server counted")));
    let mut row = |what: &str, column: &str, count: u64, server: Option<u64>| {
        let server = counted.map(|_| server.map_or_else(String::new, human::count));
        table.row([what.to_owned(), column.to_owned(), human::count(count)].into_iter().chain(server));
    };
    let server = |count: fn(&crate::explain::Counters) -> u64| counted.as_ref().map(count);
    row("comes with its image", "`skip_fpw`", counts.image, server(|c| c.image));
    row("is initialised", "`skip_init`", counts.init, server(|c| c.init));
    row("is not there yet", "`skip_new`", counts.new, server(|c| c.new));
    row("was looked up a moment before", "`skip_rep`", counts.repeated, server(|c| c.repeated));
    row("is in the buffer pool", "`hit`", counts.hit, server(|c| c.hit));
    row("is prefetched", "`prefetch`", counts.prefetches(), server(|c| c.prefetches));
    row("... needlessly: it came with an image, or is initialised", "", counts.needless_prefetches, None);
    row("... to use", "", counts.useful_prefetches, None);
    table.render()
}

fn relations(part: &Part) -> String {
    let mut table = Table::new([
        "relation",
        "with image",
        "initialised",
        "needless prefetches",
        "",
        "of all prefetches",
        "useful",
        "reads with prefetch",
        "without",
    ]);
    let told =
        |counts: &BlockCounts| counts.prefetches() + counts.image + counts.init + counts.needed_pages > 0;
    for relation in part.range.relations.iter().filter(|relation| told(&relation.counts)).take(RELATIONS) {
        let counts = &relation.counts;
        table.row([
            relation.relation.clone(),
            human::count(counts.image),
            human::count(counts.init),
            human::count(counts.needless_prefetches),
            human::bytes(counts.needless_prefetches as f64 * 8192.0),
            needless_share(counts),
            human::count(counts.useful_prefetches),
            human::count(counts.reads_with_prefetch()),
            human::count(counts.needed_reads),
        ]);
    }
    table.render()
}

fn needless_share(counts: &BlockCounts) -> String {
    match counts.prefetches() {
        0 => String::new(),
        all => human::percent(counts.needless_prefetches as f64 / all as f64),
    }
}
