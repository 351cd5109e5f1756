//! Facts in, verdicts, forecasts, remedies and words out.

#![allow(clippy::unwrap_used)]

mod commits;
mod forecasts;
mod remedies;
mod verdicts;
mod words;
