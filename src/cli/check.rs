//! `stall-lab check`

use super::Exit;
use super::args::CheckArgs;
use crate::check::{self, STATEMENT_TIMEOUT, Terms, Verdict};
use crate::postgres::{ConninfoError, Endpoint, Environment};

pub(super) async fn run(args: CheckArgs) -> anyhow::Result<Exit> {
    match look(args).await {
        Ok(exit) => Ok(exit),
        // Monitoring tells this from a verdict, so it is no common failure.
        Err(error) => {
            eprintln!("{} {error:#}", super::exit::error_prefix());
            Ok(Exit::CannotCheck)
        }
    }
}

async fn look(args: CheckArgs) -> anyhow::Result<Exit> {
    let environment = Environment::of_process();
    let endpoint = |flag: &str, conninfo: &str| -> anyhow::Result<Endpoint> {
        let endpoint = Endpoint::server(flag, conninfo, &environment);
        let endpoint = endpoint
            .map_err(|error: ConninfoError| anyhow::Error::new(error).context(format!("--{flag}")))?;
        endpoint.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
        Ok(endpoint.read_only(STATEMENT_TIMEOUT))
    };
    let primary = endpoint("primary", &args.primary)?;
    let standbys =
        args.standby.iter().map(|conninfo| endpoint("standby", conninfo)).collect::<Result<Vec<_>, _>>()?;
    let facts = check::gather(&primary, &standbys, args.interval).await?;
    let assessment =
        check::judge(&facts, &Terms { iops: args.iops, tolerated_s: args.tolerate.as_secs_f64() });
    let text =
        if args.json { serde_json::to_string_pretty(&assessment)? } else { check::in_words(&assessment) };
    say!("{}", text.trim_end())?;
    Ok(match assessment.verdict {
        Verdict::NotExposed => Exit::Success,
        Verdict::Exposed => Exit::Exposed,
        Verdict::Unknown => Exit::NotKnown,
    })
}
