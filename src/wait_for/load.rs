//! Throughput and CPU: the windows of load, in their order.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

use super::clients::Clients;
use super::request::OpenLoop;
use super::window::{self, Shape, Spec};
use super::{Method, Pair, Request, estimate};
use crate::progress::Progress;
use crate::store::LoadWindow;

/// An open loop at this share of what the slower method can do leaves both room.
const OPEN_SHARE: f64 = 0.5;

/// Runs all windows: the closed loop, the open one at a rate that follows from it, the sweep. `keep` is given all
/// windows that there are after each.
pub(super) async fn measure(
    pair: &Arc<dyn Pair>,
    clients: &Clients,
    request: &Request,
    progress: &Progress,
    keep: &mut (dyn FnMut(&[LoadWindow]) -> anyhow::Result<()> + Send),
) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(request.seed.wrapping_add(1));
    let mut windows: Vec<LoadWindow> = Vec::new();
    let closed = rounds(request, &[request.workers], request.seconds, request.load_repeat, &mut random);
    // What is compared need not be swept as well.
    let swept: Vec<u32> =
        request.sweep.iter().copied().filter(|workers| *workers != request.workers).collect();
    let sweep = rounds(request, &swept, request.sweep_seconds, request.sweep_repeat, &mut random);
    let open = rounds(request, &[request.workers], request.seconds, request.open_repeat, &mut random);
    let total = closed.len() + sweep.len() + if request.open == OpenLoop::Off { 0 } else { open.len() };
    let mut run = async |specs: Vec<Spec>, windows: &mut Vec<LoadWindow>| -> anyhow::Result<()> {
        for spec in specs {
            let number = windows.len() + 1;
            progress.detail(&format!("window {number} of {total}: {} with {}", spec.method, spec.workers));
            let window = window::run(pair, clients, spec).await?;
            windows.push(LoadWindow { order: number as u32, ..window });
            keep(windows)?;
        }
        Ok(())
    };
    run(closed, &mut windows).await?;
    if let Some(rate) = open_rate(request.open, &windows) {
        let at_rate = open.into_iter().map(|spec| Spec { shape: Shape::Open(rate), ..spec }).collect();
        run(at_rate, &mut windows).await?;
    }
    run(sweep, &mut windows).await
}

/// Every method with every number of workers in each round, in random order within the round.
fn rounds(request: &Request, workers: &[u32], seconds: u32, repeat: u32, random: &mut StdRng) -> Vec<Spec> {
    let length = Duration::from_secs(u64::from(seconds));
    let mut specs = Vec::new();
    for repeat in 1..=repeat {
        let mut round: Vec<Spec> = workers
            .iter()
            .flat_map(|workers| {
                request.load_methods.iter().map(move |method| Spec {
                    method: *method,
                    workers: *workers,
                    length,
                    shape: Shape::Closed,
                    repeat,
                })
            })
            .collect();
        round.shuffle(random);
        specs.extend(round);
    }
    specs
}

/// The rate of the open loop, the same for all methods; none if there is to be none.
fn open_rate(open: OpenLoop, closed: &[LoadWindow]) -> Option<f64> {
    match open {
        OpenLoop::Off => None,
        OpenLoop::Rate(rate) => Some(rate),
        OpenLoop::HalfOfTheSlower => {
            let median = |method: Method| {
                let name = method.to_string();
                let of_method = closed.iter().filter(|window| window.method == name);
                let rates: Vec<f64> =
                    of_method.map(|window| window.completions as f64 / window.window_s).collect();
                estimate::median(&rates)
            };
            let slower =
                [Method::BusyPoll, Method::WAIT_FOR].into_iter().filter_map(median).reduce(f64::min)?;
            // A round number: it is to be read.
            Some((slower * OPEN_SHARE / 10.0).floor().max(1.0) * 10.0)
        }
    }
}
