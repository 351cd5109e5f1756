//! A lab without servers, for tests: scripted physics under virtual time.

mod lab;

pub(crate) use lab::{FakeLab, Mishap, Script};
