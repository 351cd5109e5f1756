//! `stall-lab wait-for` and its parts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ServerArgs;
use crate::image::ImageRequest;
use crate::wait_for::{Method, Mode, OpenLoop, Part, Request};

/// Measure WAIT FOR LSN against polling.
///
/// Read-your-writes on an asynchronous standby: insert on the primary, then wait on the standby until it has replayed
/// the insert. PostgreSQL 19's WAIT FOR LSN is measured beside asking in a loop. Results are in
/// results/wait-for/<time>/.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stall-lab wait-for all                               everything, about eight minutes
  stall-lab wait-for latency --methods poll:5ms,busy-poll,wait-for
  stall-lab wait-for load --workers 10 --rate 500      as an open loop: 500 inserts a second are due
  stall-lab wait-for load --methods poll,busy-poll --postgres 18
  stall-lab wait-for refusals                          what the server refuses, with SQLSTATEs")]
pub(in crate::cli) struct WaitForArgs {
    #[command(subcommand)]
    pub part: WaitForPart,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum WaitForPart {
    /// Everything, and one page of it
    All(AllArgs),
    /// Time of one wait, method by method
    Latency(LatencyArgs),
    /// Completions a second and the standby's CPU, method by method
    Load(LoadArgs),
    /// How far apart many waiters on one LSN return
    Wake(WakeArgs),
    /// What WAIT FOR LSN refuses and what it returns, on both roles
    Refusals(RefusalsArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AllArgs {
    #[command(flatten)]
    pub latency: LatencyFlags,
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub wake: WakeFlags,
    /// Rounds of everything that is measured; each part has its own number unless said
    #[arg(long, value_name = "N", value_parser = at_least_1())]
    pub repeat: Option<u32>,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LatencyArgs {
    /// Methods: poll, poll:5ms, busy-poll, wait-for, wait-for:standby_write, :standby_flush, :primary_flush
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...")]
    pub methods: Vec<Method>,
    #[command(flatten)]
    pub flags: LatencyFlags,
    /// Rounds of trials
    #[arg(long, default_value_t = LATENCY_REPEAT, value_name = "N", value_parser = at_least_1())]
    pub repeat: u32,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LatencyFlags {
    /// Trials of each method in each round
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = at_least_1())]
    pub trials: u32,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LoadArgs {
    /// Methods, as for latency
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...")]
    pub methods: Vec<Method>,
    #[command(flatten)]
    pub flags: LoadFlags,
    /// Rounds
    #[arg(long, default_value_t = LOAD_REPEAT, value_name = "N", value_parser = at_least_1())]
    pub repeat: u32,
    /// Also run as an open loop, with so many inserts due a second
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LoadFlags {
    /// Sessions that insert and wait, each in a closed loop
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    pub workers: u32,
    /// Length of a window of load
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = at_least_1())]
    pub seconds: u32,
    /// Numbers of sessions to compare besides, in shorter windows; `none` for no sweep
    #[arg(long, default_value = "1,2,4,8,16,32,64", value_name = "N,...|none", value_parser = numbers)]
    pub sweep: Numbers,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WakeArgs {
    #[command(flatten)]
    pub flags: WakeFlags,
    /// Rounds for each number of waiters
    #[arg(long, default_value_t = WAKE_REPEAT, value_name = "N", value_parser = at_least_1())]
    pub repeat: u32,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WakeFlags {
    /// How many sessions wait for one LSN
    #[arg(long, default_value = "2,5,15,50,100,200", value_name = "N,...", value_parser = numbers)]
    pub waiters: Numbers,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RefusalsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CommonArgs {
    /// Seed of all random orders; recorded with the results
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Major version or image; 19, the first with WAIT FOR LSN, unless said
    #[command(flatten)]
    pub server: ServerArgs,
    /// Folder for results
    #[arg(long, default_value = "results", value_name = "DIR")]
    pub results: PathBuf,
    /// Print the plan and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl CommonArgs {
    /// The server that is asked for: 19 unless said.
    pub(in crate::cli) fn image(&self) -> ImageRequest {
        match self.server.clone().request() {
            ImageRequest::Default => ImageRequest::Version(FIRST_MAJOR),
            request => request,
        }
    }
}

/// The first major version with `WAIT FOR LSN`.
const FIRST_MAJOR: u16 = 19;

/// The most sessions of a part: each is a process of the server.
const MOST_SESSIONS: i64 = 500;

const LATENCY_REPEAT: u32 = 3;
const LOAD_REPEAT: u32 = 6;
const OPEN_REPEAT: u32 = 3;
const SWEEP_REPEAT: u32 = 3;
const SWEEP_SECONDS: u32 = 2;
const WAKE_REPEAT: u32 = 10;

fn at_least_1() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// A list of numbers of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Numbers(pub Vec<u32>);

fn numbers(text: &str) -> Result<Numbers, String> {
    if text == "none" {
        return Ok(Numbers(Vec::new()));
    }
    let number = |part: &str| {
        let number =
            part.trim().parse().ok().filter(|number| (1..=MOST_SESSIONS).contains(&i64::from(*number)));
        number.ok_or_else(|| format!("{part:?} is no number from 1 to {MOST_SESSIONS}"))
    };
    text.split(',').map(number).collect::<Result<_, _>>().map(Numbers)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1.0..=1e6).contains(rate));
    rate.ok_or_else(|| "a number from 1 to 1,000,000 is wanted".to_owned())
}

/// What is compared unless other methods are asked for.
fn latency_methods() -> Vec<Method> {
    [Method::POLL, Method::BusyPoll].into_iter().chain(Mode::ALL.map(Method::WaitFor)).collect()
}

fn load_methods() -> Vec<Method> {
    vec![Method::POLL, Method::BusyPoll, Method::WAIT_FOR]
}

impl WaitForPart {
    /// What all parts share.
    pub(in crate::cli) fn common(&self) -> &CommonArgs {
        match self {
            Self::All(args) => &args.common,
            Self::Latency(args) => &args.common,
            Self::Load(args) => &args.common,
            Self::Wake(args) => &args.common,
            Self::Refusals(args) => &args.common,
        }
    }

    /// The arguments as a request.
    pub(in crate::cli) fn request(&self) -> Request {
        // Part of a double's range, so that JSON readers keep it whole.
        let seed = self.common().seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
        let request = Request {
            parts: Vec::new(),
            seed,
            latency_methods: Vec::new(),
            trials: 0,
            latency_repeat: LATENCY_REPEAT,
            load_methods: Vec::new(),
            workers: 0,
            seconds: 0,
            load_repeat: LOAD_REPEAT,
            sweep: Vec::new(),
            sweep_seconds: SWEEP_SECONDS,
            sweep_repeat: SWEEP_REPEAT,
            open: OpenLoop::Off,
            open_repeat: OPEN_REPEAT,
            waiters: Vec::new(),
            wake_repeat: WAKE_REPEAT,
        };
        match self {
            Self::All(args) => Request {
                parts: Part::ALL.to_vec(),
                open: OpenLoop::HalfOfTheSlower,
                latency_repeat: args.repeat.unwrap_or(request.latency_repeat),
                load_repeat: args.repeat.unwrap_or(request.load_repeat),
                open_repeat: args.repeat.unwrap_or(request.open_repeat),
                sweep_repeat: args.repeat.unwrap_or(request.sweep_repeat),
                wake_repeat: args.repeat.unwrap_or(request.wake_repeat),
                ..args.wake.of(args.load.of(args.latency.of(request)))
            },
            Self::Latency(args) => Request {
                parts: vec![Part::Latency],
                latency_methods: or(&args.methods, latency_methods),
                latency_repeat: args.repeat,
                ..args.flags.of(request)
            },
            Self::Load(args) => Request {
                parts: vec![Part::Load],
                load_methods: or(&args.methods, load_methods),
                load_repeat: args.repeat,
                open_repeat: args.repeat,
                open: args.rate.map_or(OpenLoop::Off, OpenLoop::Rate),
                ..args.flags.of(request)
            },
            Self::Wake(args) => {
                Request { parts: vec![Part::Wake], wake_repeat: args.repeat, ..args.flags.of(request) }
            }
            Self::Refusals(_) => Request { parts: vec![Part::Refusals], ..request },
        }
    }
}

fn or(given: &[Method], default: fn() -> Vec<Method>) -> Vec<Method> {
    if given.is_empty() { default() } else { given.to_vec() }
}

impl LatencyFlags {
    fn of(&self, request: Request) -> Request {
        Request { latency_methods: latency_methods(), trials: self.trials, ..request }
    }
}

impl LoadFlags {
    fn of(&self, request: Request) -> Request {
        Request {
            load_methods: load_methods(),
            workers: self.workers,
            seconds: self.seconds,
            sweep: self.sweep.0.clone(),
            ..request
        }
    }
}

impl WakeFlags {
    fn of(&self, request: Request) -> Request {
        Request { waiters: self.waiters.0.clone(), ..request }
    }
}
