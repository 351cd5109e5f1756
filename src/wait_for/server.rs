//! What can be asked of a server of some version, and concluded from it.

use super::{Method, Part};

/// The first major version with `WAIT FOR LSN`.
const FIRST_MAJOR: u32 = 19;

/// May anything be concluded from what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusions {
    /// Yes.
    Drawn,
    /// No: pre-releases before rc1 had a bug that loses wake-ups.
    RefusedForPrerelease,
    /// About polling alone: the server has no `WAIT FOR`.
    PollingAlone,
}

impl Conclusions {
    /// What may be concluded from a server of this version, as in `19rc1` or `18.6 (Debian 18.6-3)`.
    #[must_use]
    pub fn of(version: &str) -> Self {
        match Support::of(version) {
            Support::None => Self::PollingAlone,
            Support::Buggy => Self::RefusedForPrerelease,
            Support::Full => Self::Drawn,
        }
    }
}

/// What a version knows of `WAIT FOR LSN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Nothing.
    None,
    /// A version of it from before 19rc1.
    Buggy,
    /// All of it.
    Full,
}

impl Support {
    /// Of this version, as in `19rc1`.
    #[must_use]
    pub fn of(version: &str) -> Self {
        let version = version.split_whitespace().next().unwrap_or_default();
        let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
        let (major, rest) = version.split_at(digits);
        let major: u32 = major.parse().unwrap_or_default();
        let is_early = ["devel", "alpha", "beta"].iter().any(|word| rest.starts_with(word));
        match major {
            ..FIRST_MAJOR => Self::None,
            FIRST_MAJOR if is_early => Self::Buggy,
            _ => Self::Full,
        }
    }

    /// Why these parts and methods cannot be run on this version; none if they can.
    #[must_use]
    pub fn objection(self, version: &str, parts: &[Part], methods: &[Method]) -> Option<String> {
        let polls = methods.iter().all(|method| !method.is_wait_for());
        let timed = parts.iter().all(|part| matches!(part, Part::Latency | Part::Load));
        if self != Self::None || (polls && timed) {
            return None;
        }
        Some(format!(
            "PostgreSQL {version} has no WAIT FOR LSN, which came with 19. Take --postgres 19; or measure polling alone: \
             `stall-lab wait-for latency` or `load` with --methods poll,busy-poll"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_are_drawn_from_rc1_on() {
        for (version, conclusions) in [
            ("18.6 (Debian 18.6-3)", Conclusions::PollingAlone),
            ("18beta1", Conclusions::PollingAlone),
            ("19beta4", Conclusions::RefusedForPrerelease),
            ("19devel", Conclusions::RefusedForPrerelease),
            ("19rc1 (Debian 19~rc1-1)", Conclusions::Drawn),
            ("19.0", Conclusions::Drawn),
            ("20devel", Conclusions::Drawn),
        ] {
            assert_eq!(Conclusions::of(version), conclusions, "{version}");
        }
    }

    #[test]
    fn an_older_server_may_be_polled_and_no_more() {
        let objection = |parts: &[Part], methods: &[Method]| Support::None.objection("18.6", parts, methods);
        let polling = [Method::POLL, Method::BusyPoll];
        assert_eq!(objection(&[Part::Latency, Part::Load], &polling), None);
        for (parts, methods) in [
            (&[Part::Latency][..], &[Method::BusyPoll, Method::WAIT_FOR][..]),
            (&[Part::Wake][..], &polling[..]),
            (&[Part::Refusals][..], &polling[..]),
        ] {
            let words = objection(parts, methods).unwrap_or_default();
            assert!(words.contains("18.6 has no WAIT FOR LSN") && words.contains("--postgres 19"), "{words}");
        }
        assert_eq!(Support::Full.objection("19rc1", &[Part::Wake], &[Method::WAIT_FOR]), None);
    }
}
