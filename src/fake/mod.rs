//! A lab without servers, for tests: scripted physics under virtual time.

mod lab;
mod pair;
mod site;

pub(crate) use lab::{FakeLab, Mishap, Script, WaitsFor};
pub(crate) use pair::{FakePair, FakePairSite, QUESTION_S, REPLAY, Trouble};
pub(crate) use site::FakeSite;
