//! What others measured: a public write-up of autumn 2026 on PostgreSQL 19 beta 4, one primary and one streaming standby
//! in two containers, a client on the host; 20 trials a method, and ten workers for five seconds, twice.

/// Latency of a method, milliseconds; ranges over its runs.
pub(super) struct Latency {
    pub method: &'static str,
    pub median: &'static str,
    pub mean: &'static str,
    pub max: &'static str,
}

pub(super) const LATENCY: [Latency; 3] = [
    Latency { method: "poll", median: "0.49 to 1.65", mean: "0.96 to 1.42", max: "1.97 to 2.02" },
    Latency { method: "busy-poll", median: "0.35 to 0.41", mean: "0.39 to 0.40", max: "0.55 to 1.04" },
    Latency { method: "wait-for", median: "0.28 to 0.36", mean: "0.31 to 0.38", max: "0.56 to 0.77" },
];

/// Load of ten workers.
pub(super) struct Load {
    pub method: &'static str,
    pub completions_per_s: f64,
    pub cpu_mean_pct: f64,
    pub cpu_peak_pct: f64,
}

impl Load {
    /// CPU of the standby for each completion, microseconds: follows from the other two.
    pub(super) fn cpu_us_per_completion(&self) -> f64 {
        self.cpu_mean_pct / 100.0 / self.completions_per_s * 1e6
    }
}

pub(super) const LOAD: [Load; 2] = [
    Load { method: "busy-poll", completions_per_s: 3_182.0, cpu_mean_pct: 57.0, cpu_peak_pct: 67.0 },
    Load { method: "wait-for", completions_per_s: 3_552.0, cpu_mean_pct: 38.0, cpu_peak_pct: 52.0 },
];

/// Workers of that load.
pub(super) const WORKERS: u32 = 10;
