//! Whom commits wait for, and whether they go on without each.

use super::assessment::Commits;
use super::facts::{Asked, Primary, Seen, Walsender};
use super::rule::Rule;

/// What streams that is no standby: it replays nothing and never gets in replay's way.
const NO_STANDBYS: [&str; 2] = ["pg_receivewal", "pg_basebackup"];

/// Whom commits wait for.
#[derive(Debug, Clone, PartialEq)]
pub struct Synchrony {
    /// The rule; none where the setting is empty. Hidden where it is not understood.
    rule: Seen<Option<Rule>>,
    /// Why no commit waits, whatever the rule.
    local: Option<String>,
    /// The walsenders.
    walsenders: Seen<Vec<Walsender>>,
    /// How many that count stream.
    pub streaming: Option<usize>,
    /// The name of each standby that was asked, in order.
    pub asked: Vec<Seen<String>>,
    /// Names of standbys that only the primary knows.
    pub others: Vec<String>,
    /// One that streams and does not count.
    pub idle: Option<String>,
    /// What a reader should know of it.
    pub notes: Vec<String>,
}

/// Of the primary and the standbys that were asked.
pub fn synchrony(primary: &Primary, asked: &[Asked]) -> Synchrony {
    let identity = &primary.identity;
    let rule = match identity.setting("synchronous_standby_names") {
        Some(text) => Rule::parse(text).map_or_else(Seen::Hidden, Seen::Value),
        None => Seen::Hidden("synchronous_standby_names cannot be seen".to_owned()),
    };
    let level = identity.setting("synchronous_commit").unwrap_or("on");
    let local = matches!(level, "off" | "local").then(|| format!("synchronous_commit is {level}"));
    let walsenders = primary.walsenders.clone();
    let names =
        names(asked, walsenders.value().map_or(&[], Vec::as_slice), rule.value().and_then(Option::as_ref));
    let counts = |name: &str| matches!(rule.value(), Some(Some(rule)) if rule.counts(name));
    let senders = walsenders.value().map_or(&[] as &[Walsender], Vec::as_slice);
    let others = others(&names, senders);
    let idle = senders
        .iter()
        .find(|sender| {
            streams(sender) == Some(true)
                && !counts(&sender.name)
                && !NO_STANDBYS.contains(&sender.name.as_str())
        })
        .map(|sender| sender.name.clone());
    let mut synchrony =
        Synchrony { rule, local, walsenders, streaming: None, asked: names, others, idle, notes: vec![] };
    synchrony.streaming = synchrony.rule().zip(synchrony.walsenders.value()).and_then(|(rule, _)| {
        let all = synchrony.streaming_among(rule, None);
        (all.at_least == all.at_most).then_some(all.at_least)
    });
    synchrony.notes = notes(level, &synchrony);
    synchrony
}

impl Synchrony {
    /// The rule, if there is one.
    pub fn rule(&self) -> Option<&Rule> {
        self.rule.value()?.as_ref()
    }

    /// Why no commit waits for any standby, if that is so.
    pub fn nobody_waits(&self) -> Option<&str> {
        match &self.rule {
            Seen::Value(None) => Some("synchronous_standby_names is empty"),
            _ => self.local.as_deref(),
        }
    }

    /// What commits do when the walreceiver of the standby of this name is gone.
    pub fn without(&self, name: Option<&str>) -> Seen<Commits> {
        if self.nobody_waits().is_some() {
            return Seen::Value(Commits::DoNotWait);
        }
        let rule = match &self.rule {
            Seen::Value(Some(rule)) => rule,
            Seen::Value(None) => return Seen::Value(Commits::DoNotWait),
            Seen::Hidden(why) => return Seen::Hidden(why.clone()),
        };
        let Some(name) = name else {
            return Seen::Hidden("its name at the primary is not known".to_owned());
        };
        if !rule.counts(name) {
            return Seen::Value(Commits::DoNotWait);
        }
        let left = self.streaming_among(rule, Some(name));
        if left.at_least >= rule.count {
            return Seen::Value(Commits::GoOn);
        }
        if left.at_most >= rule.count || self.walsenders.value().is_none() {
            let why = self.walsenders.why_hidden().unwrap_or("the role is not a member of pg_monitor");
            return Seen::Hidden(format!("which standbys stream is not visible: {why}"));
        }
        let all = self.streaming_among(rule, None);
        Seen::Value(if all.at_most < rule.count { Commits::HangNow } else { Commits::Hang })
    }

    /// How many that count stream, one of this name left out.
    fn streaming_among(&self, rule: &Rule, without: Option<&str>) -> Range {
        let senders = self.walsenders.value().map_or(&[] as &[Walsender], Vec::as_slice);
        // Several may have the same name: one of them is left out.
        let left_out =
            without.and_then(|name| senders.iter().position(|one| one.name.eq_ignore_ascii_case(name)));
        let counted = senders
            .iter()
            .enumerate()
            .filter(|(at, sender)| Some(*at) != left_out && rule.counts(&sender.name))
            .map(|(_, sender)| sender);
        let (mut at_least, mut at_most) = (0, 0);
        for sender in counted {
            at_least += usize::from(streams(sender) == Some(true));
            at_most += usize::from(streams(sender) != Some(false));
        }
        Range { at_least, at_most }
    }
}

/// A number of which only this is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    at_least: usize,
    at_most: usize,
}

/// None where it is not visible.
fn streams(sender: &Walsender) -> Option<bool> {
    sender.state.as_deref().map(|state| state == "streaming")
}

/// The name of each standby at the primary: what it says. Where only one was asked and cannot say, that of the only
/// walsender; or, where none is connected, the only name that the rule lists.
fn names(asked: &[Asked], senders: &[Walsender], rule: Option<&Rule>) -> Vec<Seen<String>> {
    let said: Vec<Seen<String>> = asked
        .iter()
        .map(|asked| match &asked.standby {
            Seen::Value(standby) => standby.name.clone(),
            Seen::Hidden(why) => Seen::Hidden(why.clone()),
        })
        .collect();
    let listed = rule.map_or(&[] as &[String], |rule| rule.names.as_slice());
    match (said.as_slice(), senders, listed) {
        ([Seen::Hidden(_)], [sender], _) => vec![Seen::Value(sender.name.clone())],
        ([Seen::Hidden(_)], [], [name]) if name != "*" => vec![Seen::Value(name.clone())],
        _ => said,
    }
}

/// Names of the walsenders that are of none of these standbys.
fn others(asked: &[Seen<String>], senders: &[Walsender]) -> Vec<String> {
    let mut others: Vec<String> = senders
        .iter()
        .map(|sender| sender.name.clone())
        .filter(|name| !NO_STANDBYS.contains(&name.as_str()))
        .collect();
    for name in asked.iter().filter_map(Seen::value) {
        if let Some(at) = others.iter().position(|other| other == name) {
            others.remove(at);
        }
    }
    others.sort();
    others
}

fn notes(level: &str, synchrony: &Synchrony) -> Vec<String> {
    let mut notes = Vec::new();
    if level == "remote_apply" {
        notes.push(
            "synchronous_commit is remote_apply: commits wait for replay, so a standby that replays slowly holds them \
             up even while its walreceiver lives"
                .to_owned(),
        );
    }
    if let (Some(local), Some(_)) = (&synchrony.local, synchrony.rule()) {
        notes.push(format!("{local} for the role that asked; sessions that set it higher wait all the same"));
    }
    let senders = synchrony.walsenders.value().map_or(&[] as &[Walsender], Vec::as_slice);
    if let Some(rule) = synchrony.rule() {
        let absent = |name: &&String| {
            *name != "*" && !senders.iter().any(|sender| sender.name.eq_ignore_ascii_case(name))
        };
        let absent: Vec<&str> = rule.names.iter().filter(absent).map(String::as_str).collect();
        if !absent.is_empty() && synchrony.walsenders.value().is_some() {
            notes.push(format!("not connected to the primary, though they count: {}", absent.join(", ")));
        }
    }
    notes
}
