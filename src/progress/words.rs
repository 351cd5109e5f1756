//! Figures as a terminal shows them: short, of steady width, rounded to what is worth reading.

/// A time: `41 s`, `32 min 14 s`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = whole(seconds);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

/// A time that is an estimate: `48 s`, `33 min`. Never nothing, since nothing left would be told otherwise.
pub(super) fn estimate(seconds: f64) -> String {
    let seconds = whole(seconds).max(1);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) }
}

/// A number of bytes in decimal units: `0 MB`, `312 MB`, `10.0 GB`.
pub(super) fn size(bytes: f64) -> String {
    if bytes < 999.5e6 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}

/// A rate in events a second: `0`, `4.9`, `203`; a question mark where it is not known.
pub(super) fn rate(per_s: Option<f64>) -> String {
    match per_s {
        None => "?".to_owned(),
        Some(rate) if rate < 9.95 && rate.fract() != 0.0 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.0}"),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and a time below zero is shown as none"
)]
fn whole(seconds: f64) -> u64 {
    seconds.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_seconds_up_to_two_minutes() {
        let shown = [0.0, 41.4, 119.4, 119.5, 1_934.0, -3.0].map(duration);
        assert_eq!(shown, ["0 s", "41 s", "119 s", "2 min 0 s", "32 min 14 s", "0 s"]);
    }

    #[test]
    fn an_estimate_is_rounded_to_minutes_when_it_is_long_and_is_never_nothing() {
        let shown = [0.0, 48.2, 119.0, 120.0, 150.0, 2_004.0].map(estimate);
        assert_eq!(shown, ["1 s", "48 s", "119 s", "2 min", "3 min", "33 min"]);
    }

    #[test]
    fn bytes_are_shown_in_megabytes_up_to_a_gigabyte() {
        let shown = [0.0, 5_256.0, 312.4e6, 999.4e6, 999.6e6, 10.012e9].map(size);
        assert_eq!(shown, ["0 MB", "0 MB", "312 MB", "999 MB", "1.0 GB", "10.0 GB"]);
    }

    #[test]
    fn a_rate_has_a_decimal_only_when_it_is_small_and_an_unknown_one_is_no_zero() {
        let shown = [None, Some(0.0), Some(5.0), Some(4.93), Some(9.97), Some(202.7)].map(rate);
        assert_eq!(shown, ["?", "0", "5", "4.9", "10", "203"]);
    }
}
