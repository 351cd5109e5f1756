//! How the process ends.

use std::io::IsTerminal as _;
use std::process::{ExitCode, Termination};

use crate::analysis::AnalysisError;
use crate::profile::{Problems, ProfileError};
use crate::repro::ArmsError;
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
        || error.is::<UsageError>();
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

/// `error:`, in red where stderr is a terminal and NO_COLOR is not set.
pub(super) fn error_prefix() -> &'static str {
    let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if coloured { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" }
}
