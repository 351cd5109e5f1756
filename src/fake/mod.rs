//! A lab without servers, for tests: scripted physics under virtual time.

mod lab;
mod site;

pub(crate) use lab::{FakeLab, Mishap, Script, WaitsFor};
pub(crate) use site::FakeSite;
