//! How the process ends.

use std::io::IsTerminal as _;
use std::process::{ExitCode, Termination};

use crate::analysis::AnalysisError;
use crate::observe::ObserveError;
use crate::postgres::ConninfoError;
use crate::profile::{Problems, ProfileError};
use crate::repro::ArmsError;
use crate::store::StoreError;
use crate::sweep::{PointError, SweepError, SweepFolderError};

/// The exit codes, as `--help` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Success,
    /// Failed.
    Failure,
    /// A flag, a profile or a path is wrong.
    Usage,
    /// Done, but not as expected.
    Unexpected,
    /// Stopped by the user.
    Interrupted,
    /// `check`: a standby is exposed.
    Exposed,
    /// `check`: what would have to be known is not visible.
    NotKnown,
    /// `check`: nothing could be said.
    CannotCheck,
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Unexpected => 3,
            Self::Interrupted => 130,
            Self::Exposed => 1,
            Self::NotKnown => 2,
            Self::CannotCheck => 3,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// What the user asked for is wrong, as opposed to: it could not be done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub String);

/// The exit code of an error.
pub(super) fn of_error(error: &anyhow::Error) -> Exit {
    let no_results = matches!(error.downcast_ref(), Some(AnalysisError::NoResults { .. }));
    let is_usage = error.is::<ProfileError>()
        || error.is::<Problems>()
        || error.is::<ArmsError>()
        || error.is::<PointError>()
        || error.is::<UsageError>()
        || error.is::<ConninfoError>()
        || error.downcast_ref().is_some_and(of_servers);
    if no_results || is_usage || is_of_another_sweep(error) { Exit::Usage } else { Exit::Failure }
}

/// Was a folder named that holds something else.
fn is_of_another_sweep(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(SweepError::Folder(
            SweepFolderError::Another { .. }
                | SweepFolderError::NotEmpty { .. }
                | SweepFolderError::Busy { .. }
        ))
    )
}

/// Are the servers, or the folder, not such as the flags say.
fn of_servers(error: &ObserveError) -> bool {
    use ObserveError::{NoPrimary, NoStandby, Store};
    matches!(error, NoPrimary { .. } | NoStandby { .. } | Store(StoreError::Taken { .. }))
}

/// `error:`, in red where stderr is a terminal and NO_COLOR is not set.
pub(super) fn error_prefix() -> &'static str {
    let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if coloured { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" }
}
