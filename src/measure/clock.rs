//! The run's clock: monotonic seconds since its start, with the wall clock beside it.

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the time of samples and events.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    wall: Wall,
}

/// Where the wall-clock time comes from.
#[derive(Debug, Clone, Copy)]
enum Wall {
    /// From the system, steps and all: a step shows in the timeline.
    System,
    /// From the monotonic clock: for virtual time.
    Monotonic { start_unix_s: f64 },
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now(), wall: Wall::System }
    }

    /// A clock that starts now and whose wall clock never steps, for runs under virtual time.
    #[must_use]
    pub fn start_virtual(start_unix_s: f64) -> Self {
        Self { start: Instant::now(), wall: Wall::Monotonic { start_unix_s } }
    }

    /// The moment the clock started.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.start
    }

    /// Seconds from the start to `at`.
    #[must_use]
    pub fn t_s(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.start).as_secs_f64()
    }

    /// Seconds since 1970, now.
    #[must_use]
    pub fn unix_s(&self) -> f64 {
        match self.wall {
            Wall::System => Timestamp::now().as_duration().as_secs_f64(),
            Wall::Monotonic { start_unix_s } => start_unix_s + self.t_s(Instant::now()),
        }
    }
}
