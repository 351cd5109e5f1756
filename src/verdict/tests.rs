#![allow(clippy::unwrap_used)]
//! Every branch of the judgement, on runs made up for it.
