//! What the suites on real engines and servers share. Each suite uses a part of it.

#![allow(dead_code)]

pub mod servers;

use stall_lab::docker::Engine;

/// The engine; none where there is none and tests may be skipped for it, which is said.
pub async fn engine_or_skip() -> Option<Engine> {
    match Engine::connect().await {
        Ok(engine) => Some(engine),
        Err(error) if std::env::var_os("STALL_LAB_REQUIRE_DOCKER").is_none() => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
