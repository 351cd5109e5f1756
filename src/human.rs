//! Figures as a person reads them. Sizes count in 1024s, as PostgreSQL's do.

/// A size with three digits at most before its unit: `512 B`, `16.2 kB`, `317 MB`, `10.1 GB`.
#[must_use]
pub(crate) fn bytes(bytes: f64) -> String {
    let mut value = bytes;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    let digits = if unit == "B" || value >= 99.95 { 0 } else { 1 };
    format!("{value:.digits$} {unit}")
}

/// A length of time: `0.4 s`, `82 s`, `38 min 31 s`, `2 h 05 min`.
#[must_use]
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    // Casts of floats saturate, so an absurd length stays a length.
    let whole = seconds.round() as u64;
    match whole {
        0..120 => format!("{whole} s"),
        120..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A moment on the run's clock, as it stands in the column `t_s`: `t = 2311 s`.
#[must_use]
pub(crate) fn moment(t_s: f64) -> String {
    format!("t = {t_s:.0} s")
}

/// A whole number with its thousands apart: `1,136,236`.
#[must_use]
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Operations a second: `499.8/s`, `12,034/s`.
#[must_use]
pub(crate) fn rate(a_second: f64) -> String {
    if a_second == 0.0 {
        "0/s".to_owned()
    } else if a_second < 9999.5 {
        format!("{a_second:.1}/s")
    } else {
        format!("{}/s", count(a_second.round() as u64))
    }
}

/// A share of 1 as a whole percentage: `99 %`.
#[must_use]
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// How many times one figure is another: `1.04`, `26.3`, `1,200`.
#[must_use]
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        0.0..9.995 => format!("{ratio:.2}"),
        9.995..99.95 => format!("{ratio:.1}"),
        _ => count(ratio.round() as u64),
    }
}

/// A word of a shell's command, in quotes where the shell would take it apart.
#[must_use]
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// An error with everything that led to it, on one line. A cause that stands in the message before it is not said again.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    for cause in std::iter::successors(error.source(), |error| error.source()) {
        let said = cause.to_string();
        if !last.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        last = said;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{said}")]
    struct Said {
        said: &'static str,
        source: Option<Box<Said>>,
    }

    #[test]
    fn an_error_says_each_cause_once() {
        let said = |said, source: Option<Said>| Said { said, source: source.map(Box::new) };
        let cause = || said("the disk is full", None);
        assert_eq!(in_full(&said("x.csv: the disk is full", Some(cause()))), "x.csv: the disk is full");
        assert_eq!(
            in_full(&said("phase tail", Some(said("x.csv", Some(cause()))))),
            "phase tail: x.csv: the disk is full"
        );
    }

    #[test]
    fn a_word_a_shell_would_take_apart_is_quoted() {
        for (word, text) in [
            ("--set", "--set"),
            ("standby.read_iops=1000", "standby.read_iops=1000"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(shell_word(word), text);
        }
    }

    #[test]
    fn sizes_keep_three_digits_and_count_in_1024s() {
        for (value, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.0 kB"),
            (16_588.0, "16.2 kB"),
            (332_398_592.0, "317 MB"),
            (1_073_741_824.0, "1.0 GB"),
            (5e15, "4547 TB"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn lengths_of_time_change_unit_where_a_reader_would() {
        for (value, text) in [
            (0.0, "0 s"),
            (0.44, "0.4 s"),
            (9.96, "10 s"),
            (82.4, "82 s"),
            (119.6, "2 min 00 s"),
            (2311.0, "38 min 31 s"),
            (7500.0, "2 h 05 min"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_136_236, "1,136,236")] {
            assert_eq!(count(value), text);
        }
        assert_eq!(rate(0.0), "0/s");
        assert_eq!(rate(499.77), "499.8/s");
        assert_eq!(rate(12_034.4), "12,034/s");
    }

    #[test]
    fn shares_and_ratios_carry_no_false_digits() {
        assert_eq!(percent(0.994), "99 %");
        assert_eq!(ratio(0.0), "0");
        assert_eq!(ratio(1.044), "1.04");
        assert_eq!(ratio(26.31), "26.3");
        assert_eq!(ratio(1200.4), "1,200");
    }
}
