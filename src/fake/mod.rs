//! A lab without servers, for tests: scripted physics under virtual time.

mod lab;
mod site;

pub(crate) use lab::{FakeLab, Mishap, Script};
pub(crate) use site::FakeSite;
