//! What the user asked for.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Method;
use crate::human;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Time of one wait, method by method.
    Latency,
    /// Throughput and CPU of many sessions.
    Load,
    /// Many sessions that wait for one LSN.
    Wake,
    /// What the server refuses. It ends with a promotion, so it comes last.
    Refusals,
}

impl Part {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 4] = [Self::Latency, Self::Load, Self::Wake, Self::Refusals];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Load => "load",
            Self::Wake => "wake",
            Self::Refusals => "refusals",
        }
    }
}

/// A whole `wait-for`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What to run, in this order.
    pub parts: Vec<Part>,
    /// Seed of all random orders.
    pub seed: u64,
    /// What to measure the latency of.
    pub latency_methods: Vec<Method>,
    /// Trials of each method in each round.
    pub trials: u32,
    /// Rounds of trials.
    pub latency_repeat: u32,
    /// What to load with.
    pub load_methods: Vec<Method>,
    /// Sessions of the load that is compared.
    pub workers: u32,
    /// Length of a window of it, seconds.
    pub seconds: u32,
    /// Rounds of it.
    pub load_repeat: u32,
    /// Sessions of the windows of the sweep.
    pub sweep: Vec<u32>,
    /// Length of a window of the sweep, seconds.
    pub sweep_seconds: u32,
    /// Rounds of the sweep.
    pub sweep_repeat: u32,
    /// What the open loop does.
    pub open: OpenLoop,
    /// Rounds of the open loop.
    pub open_repeat: u32,
    /// How many wait for one LSN.
    pub waiters: Vec<u32>,
    /// Rounds for each.
    pub wake_repeat: u32,
}

/// The open loop: operations that are due at a rate, whatever became of those before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenLoop {
    /// None is run.
    Off,
    /// At half of what the slowest of `busy-poll` and `wait-for` completed in the closed loop.
    HalfOfTheSlower,
    /// At so many a second.
    Rate(f64),
}

/// Seconds that opening sessions and warming up add to a window.
const WINDOW_OVERHEAD_S: f64 = 1.5;

/// Seconds that a trial takes, at most, of all methods but polls that sleep longer.
const TRIAL_S: f64 = 0.005;

/// Seconds that a round of waiters takes.
const WAKE_S: f64 = 0.7;

/// Seconds that the table of refusals takes.
const REFUSALS_S: f64 = 45.0;

/// Seconds that setting up and removing the nodes takes.
const NODES_S: f64 = 25.0;

impl Request {
    /// About how long a part takes, seconds.
    #[must_use]
    pub fn seconds_of(&self, part: Part) -> f64 {
        let times = |count: usize, repeat: u32| count as f64 * f64::from(repeat);
        match part {
            Part::Latency => {
                // The round trip is one more.
                times(self.latency_methods.len() + 1, self.latency_repeat) * f64::from(self.trials) * TRIAL_S
            }
            Part::Load => {
                let window = |seconds: u32| f64::from(seconds) + WINDOW_OVERHEAD_S;
                let methods = self.load_methods.len();
                let open = if self.open == OpenLoop::Off { 0 } else { self.open_repeat };
                times(methods, self.load_repeat + open) * window(self.seconds)
                    + times(methods * self.sweep.len(), self.sweep_repeat) * window(self.sweep_seconds)
            }
            Part::Wake => times(self.waiters.len(), self.wake_repeat) * WAKE_S,
            Part::Refusals => REFUSALS_S,
        }
    }

    /// About how long all of it takes, seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        NODES_S + self.parts.iter().map(|part| self.seconds_of(*part)).sum::<f64>()
    }

    /// Sessions that are open at once, at most.
    #[must_use]
    pub fn most_sessions(&self) -> u32 {
        self.waiters.iter().chain(&self.sweep).copied().max().unwrap_or_default().max(self.workers)
    }

    fn words(&self, part: Part) -> String {
        let methods =
            |methods: &[Method]| methods.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let numbers =
            |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match part {
            Part::Latency => format!(
                "{} rounds of {} trials each of {}, in random order",
                self.latency_repeat,
                self.trials,
                methods(&self.latency_methods)
            ),
            Part::Load => {
                let mut words = format!(
                    "closed loop, {} workers: {} rounds of {} s each of {}",
                    self.workers,
                    self.load_repeat,
                    self.seconds,
                    methods(&self.load_methods)
                );
                match self.open {
                    OpenLoop::Off => {}
                    OpenLoop::HalfOfTheSlower => {
                        words += "; the same as an open loop, at half the slower's rate"
                    }
                    OpenLoop::Rate(rate) => {
                        words += &format!("; {} as an open loop, at {rate}/s", self.open_repeat)
                    }
                }
                if !self.sweep.is_empty() {
                    words += &format!(
                        "; sweep over {} workers: {} rounds of {} s",
                        numbers(&self.sweep),
                        self.sweep_repeat,
                        self.sweep_seconds
                    );
                }
                words
            }
            Part::Wake => {
                format!("{} waiters on one LSN, {} rounds each", numbers(&self.waiters), self.wake_repeat)
            }
            Part::Refusals => {
                "every case on both roles, with and without NO_THROW; then a promotion and a timeline \
                               switch"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Request {
    /// The plan, for `--dry-run`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Nodes\n  primary, standby and a second standby that is cut off until the timeline switch; no caps"
        )?;
        writeln!(f, "\nSteps")?;
        for part in &self.parts {
            let seconds = human::seconds(self.seconds_of(*part));
            writeln!(f, "  {:<9} {} (about {seconds})", part.name(), self.words(*part))?;
        }
        writeln!(f, "  Seed of the random orders: {}", self.seed)?;
        write!(f, "\nExpected duration\n  about {}", human::seconds(self.seconds()))
    }
}
