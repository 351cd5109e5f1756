//! `stall-lab explain`

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::args::{ExplainArgs, ExplainWalArgs};
use super::exit::UsageError;
use super::{Exit, interrupt};
use crate::analysis;
use crate::docker::Engine;
use crate::explain::{Explanation, Machine, Prediction};
use crate::human;
use crate::image::{self, ImageProgress};
use crate::profile::{Prefetch, Profile, Settings};
use crate::progress::Progress;
use crate::report;
use crate::store::WalAccount;
use crate::verdict;
use crate::wal::{LINUX_READ_AHEAD_KB, Ranges, RelationNames, StandbySettings, Survey};
use crate::waldump::{self, SegmentFiles};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(flatten)]
    explanation: Explanation,
    /// With `--predict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    prediction: Option<Prediction>,
}

pub(super) async fn run(args: ExplainArgs) -> anyhow::Result<Exit> {
    let answer = match (&args.run, &args.wal.wal) {
        (Some(run), _) => of_run(run, args.predict.as_deref())?,
        (None, Some(directory)) => {
            let Some(explanation) = of_wal(directory, &args.wal).await? else { return Ok(Exit::Interrupted) };
            Answer { explanation, prediction: None }
        }
        (None, None) => {
            return Err(UsageError("say which run, or which WAL with --wal".to_owned()).into());
        }
    };
    let text = if args.json {
        serde_json::to_string_pretty(&answer)?
    } else {
        in_words(&answer, args.predict.as_deref())
    };
    say!("{text}")?;
    Ok(Exit::Success)
}

fn in_words(answer: &Answer, profile: Option<&str>) -> String {
    let mut text = report::attribution(&answer.explanation).trim_end().to_owned();
    if let (Some(prediction), Some(profile)) = (&answer.prediction, profile) {
        let table = report::prediction(profile, prediction);
        text += &format!("\n\nWhat it says of {profile}:\n\n{}", table.trim_end());
    }
    text
}

/// Of a run, by its files alone.
fn of_run(path: &Path, predict: Option<&str>) -> anyhow::Result<Answer> {
    let profile = predict.map(|profile| Profile::load(profile, &[])).transpose()?;
    let folder = analysis::run_folder(path)?;
    let (run, timeline, events) = (folder.run()?, folder.timeline()?, folder.events()?);
    let (summary, account) = (verdict::judge(&run, &timeline, &events), folder.wal()?);
    let explanation = Explanation::of_run(&run, &timeline, &events, &summary, account.as_ref());
    let prediction = profile
        .map(|profile| {
            let account = account.as_ref().context("there is no wal.json to predict from")?;
            Ok::<_, anyhow::Error>(Prediction::of(&run, account, &profile)?)
        })
        .transpose()?;
    Ok(Answer { explanation, prediction })
}

/// Of a user's own WAL. None when the user stopped it.
async fn of_wal(directory: &Path, args: &ExplainWalArgs) -> anyhow::Result<Option<Explanation>> {
    let files = SegmentFiles::find(directory).map_err(|error| UsageError(error.to_string()))?;
    let iops = args.iops.ok_or_else(|| UsageError("--wal needs --iops, the standby's cap".to_owned()))?;
    let progress = Progress::for_terminal();
    let stop = interrupt::stop_on_signal(&progress)?;
    let account = read_wal(&files, args, &progress, &stop).await;
    progress.finish();
    let (account, settings) = match account {
        Err(_) if stop.is_cancelled() => return Ok(None),
        read => read?,
    };
    let machine = Machine {
        read_iops: Some(iops),
        cache_bytes: None,
        read_ahead_bytes: u64::from(LINUX_READ_AHEAD_KB) << 10,
    };
    Ok(Some(Explanation::of_wal(&account, settings.prefetch, &machine)))
}

async fn read_wal(
    files: &SegmentFiles,
    args: &ExplainWalArgs,
    progress: &Progress,
    stop: &CancellationToken,
) -> anyhow::Result<(WalAccount, StandbySettings)> {
    let started = std::time::Instant::now();
    progress.step("connecting to the Docker engine");
    let engine = Engine::connect().await?;
    progress.step("finding a server image");
    let request = args.server.clone().request();
    let image = image::resolve(&engine, &request, &mut |told| {
        if let ImageProgress::Step(step) = told {
            progress.step(&step);
        }
    })
    .await?;
    let settings = StandbySettings::of(&settings(args), image.version.number, LINUX_READ_AHEAD_KB);
    let ranges = Ranges::whole();
    let mut survey = Survey::new(settings.model, &ranges);
    progress.step("reading the WAL");
    let on_lsn = |lsn: u64| {
        progress.detail(&format!("{} read", human::bytes(lsn.saturating_sub(files.start()) as f64)));
    };
    let run_id = format!("explain-{:08x}", rand::random::<u32>());
    waldump::survey(&engine, &image, &run_id, &files.source(), &mut survey, &on_lsn, stop).await?;
    Ok((survey.finish(&RelationNames::new(), started.elapsed().as_secs_f64()), settings))
}

/// The flags as the settings they stand for.
fn settings(args: &ExplainWalArgs) -> Settings {
    let prefetch = args.prefetch.unwrap_or(Prefetch::Try);
    let mut settings = Settings::from([("recovery_prefetch".to_owned(), prefetch.to_string())]);
    settings.extend(args.shared_buffers.map(|size| ("shared_buffers".to_owned(), size.to_string())));
    settings
}
