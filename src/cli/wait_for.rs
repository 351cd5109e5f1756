//! `stall-lab wait-for`

use anyhow::Context as _;

use super::args::WaitForArgs;
use super::exit::UsageError;
use super::repro::log_to;
use super::{Exit, interrupt};
use crate::cluster::DockerPairSite;
use crate::docker::Engine;
use crate::image::ImageRequest;
use crate::progress::Progress;
use crate::report;
use crate::wait_for::{self, Clients, Order, Request, Support, WaitForError};

pub(super) async fn run(args: WaitForArgs, command_line: Vec<String>) -> anyhow::Result<Exit> {
    let (request, common) = (args.part.request(), args.part.common());
    let image = common.image();
    refuse_old(&image, &request)?;
    if common.dry_run {
        say!("{request}")?;
        return Ok(Exit::Success);
    }
    let progress = Progress::for_terminal();
    log_to(&progress);
    let stop = interrupt::stop_on_signal(&progress)?;
    progress.step("connecting to the Docker engine");
    let site = DockerPairSite::new(Engine::connect().await?, image);
    let clients = Clients::on_every_cpu().context("starting the clients' threads")?;
    let order = Order { request: &request, results: &common.results, command_line, clients };
    let outcome = wait_for::run(&site, order, &progress, &stop).await;
    progress.finish();
    let outcome = match outcome {
        Err(WaitForError::Server(objection)) => return Err(UsageError(objection).into()),
        ended => ended?,
    };
    if let Some(analysed) = &outcome.analysed {
        let headline = report::wait_for::headline(&analysed.info, &analysed.summary);
        say!("{headline}  {}", analysed.folder.path().display())?;
    }
    Ok(if outcome.interrupted { Exit::Interrupted } else { Exit::Success })
}

/// A version that is named and too old is refused before anything is connected to.
fn refuse_old(image: &ImageRequest, request: &Request) -> Result<(), UsageError> {
    let ImageRequest::Version(major) = image else { return Ok(()) };
    let version = major.to_string();
    let methods = [request.latency_methods.as_slice(), &request.load_methods].concat();
    match Support::of(&version).objection(&version, &request.parts, &methods) {
        Some(objection) => Err(UsageError(objection)),
        None => Ok(()),
    }
}
