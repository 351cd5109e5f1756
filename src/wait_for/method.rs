//! The ways to wait until a standby has a commit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use super::{Node, Pair, Session};
use crate::postgres::SqlError;

/// How long one wait may take. It takes a millisecond.
const DEADLINE: Duration = Duration::from_secs(30);

/// `MODE` of `WAIT FOR LSN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The standby has replayed the LSN; the default.
    StandbyReplay,
    /// The standby has written it.
    StandbyWrite,
    /// The standby has flushed it.
    StandbyFlush,
    /// The primary has flushed it.
    PrimaryFlush,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::StandbyReplay, Self::StandbyWrite, Self::StandbyFlush, Self::PrimaryFlush];

    /// As the server spells it.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::StandbyReplay => "standby_replay",
            Self::StandbyWrite => "standby_write",
            Self::StandbyFlush => "standby_flush",
            Self::PrimaryFlush => "primary_flush",
        }
    }

    /// Where it can be waited for.
    #[must_use]
    pub fn node(self) -> Node {
        match self {
            Self::PrimaryFlush => Node::Primary,
            Self::StandbyReplay | Self::StandbyWrite | Self::StandbyFlush => Node::Standby,
        }
    }
}

/// A way to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Ask, sleep so long, ask again.
    Poll(Duration),
    /// Ask again at once.
    BusyPoll,
    /// `WAIT FOR LSN`.
    WaitFor(Mode),
}

/// What a wait took besides time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waited {
    /// Questions that the server answered.
    pub queries: u32,
    /// Time that was slept between them.
    pub slept: Duration,
}

impl Method {
    /// The sleeping poll of the reference.
    pub const POLL: Self = Self::Poll(Duration::from_millis(1));
    /// `WAIT FOR LSN` as it is without options.
    pub const WAIT_FOR: Self = Self::WaitFor(Mode::StandbyReplay);

    /// Needs the server to know `WAIT FOR`.
    #[must_use]
    pub fn is_wait_for(self) -> bool {
        matches!(self, Self::WaitFor(_))
    }

    /// Where it waits.
    #[must_use]
    pub fn node(self) -> Node {
        match self {
            Self::Poll(_) | Self::BusyPoll => Node::Standby,
            Self::WaitFor(mode) => mode.node(),
        }
    }

    /// Waits until `lsn` is there.
    ///
    /// # Errors
    /// When the server refuses, the connection fails, or the LSN is not there after half a minute.
    pub async fn wait(self, pair: &dyn Pair, session: &dyn Session, lsn: u64) -> Result<Waited, SqlError> {
        let waiting = async {
            match self {
                Self::Poll(interval) => poll(pair, session, lsn, Some(interval)).await,
                Self::BusyPoll => poll(pair, session, lsn, None).await,
                Self::WaitFor(mode) => wait_for(session, lsn, mode).await,
            }
        };
        let late = |_| SqlError::Failed(format!("{self}: {} is not there after {DEADLINE:?}", in_words(lsn)));
        timeout(DEADLINE, waiting).await.map_err(late)?
    }
}

async fn poll(
    pair: &dyn Pair,
    session: &dyn Session,
    lsn: u64,
    interval: Option<Duration>,
) -> Result<Waited, SqlError> {
    let mut waited = Waited::default();
    loop {
        waited.queries += 1;
        if session.has_replayed(lsn).await? {
            return Ok(waited);
        }
        if let Some(interval) = interval {
            let asleep = Instant::now();
            pair.nap(interval).await;
            waited.slept += asleep.elapsed();
        }
    }
}

/// A utility statement takes no parameters, so each is a new text: no driver could prepare it.
async fn wait_for(session: &dyn Session, lsn: u64, mode: Mode) -> Result<Waited, SqlError> {
    let lsn = in_words(lsn);
    let sql = match mode {
        Mode::StandbyReplay => format!("WAIT FOR LSN '{lsn}'"),
        mode => format!("WAIT FOR LSN '{lsn}' WITH (MODE '{}')", mode.keyword()),
    };
    match session.simple(&sql).await?.value() {
        Some("success") => Ok(Waited { queries: 1, slept: Duration::ZERO }),
        other => Err(SqlError::Failed(format!("{sql} returned {other:?}, not success"))),
    }
}

/// An LSN as PostgreSQL writes it.
#[must_use]
pub(super) fn in_words(lsn: u64) -> String {
    format!("{:X}/{:08X}", lsn >> 32, lsn & 0xffff_ffff)
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::POLL => f.write_str("poll"),
            Self::Poll(interval) => write!(f, "poll:{interval:?}"),
            Self::BusyPoll => f.write_str("busy-poll"),
            Self::WaitFor(Mode::StandbyReplay) => f.write_str("wait-for"),
            Self::WaitFor(mode) => write!(f, "wait-for:{}", mode.keyword()),
        }
    }
}

/// A text that is no method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no method: write poll, poll:5ms (any interval from 10us to 10s), busy-poll, wait-for, \
     wait-for:standby_write, wait-for:standby_flush or wait-for:primary_flush"
)]
pub struct NotAMethod(String);

impl FromStr for Method {
    type Err = NotAMethod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || NotAMethod(text.to_owned());
        match text.split_once(':') {
            None => match text {
                "poll" => Ok(Self::POLL),
                "busy-poll" => Ok(Self::BusyPoll),
                "wait-for" => Ok(Self::WAIT_FOR),
                _ => Err(unknown()),
            },
            Some(("poll", interval)) => {
                let interval: jiff::SignedDuration = interval.parse().map_err(|_| unknown())?;
                let interval = Duration::try_from(interval).map_err(|_| unknown())?;
                let sensible = Duration::from_micros(10)..=Duration::from_secs(10);
                sensible.contains(&interval).then_some(Self::Poll(interval)).ok_or_else(unknown)
            }
            Some(("wait-for", keyword)) => {
                let mode = Mode::ALL.into_iter().find(|mode| mode.keyword() == keyword);
                mode.map(Self::WaitFor).ok_or_else(unknown)
            }
            Some(_) => Err(unknown()),
        }
    }
}

impl Serialize for Method {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_as_it_is_written() {
        let texts = [
            "poll",
            "poll:5ms",
            "busy-poll",
            "wait-for",
            "wait-for:standby_write",
            "wait-for:standby_flush",
            "wait-for:primary_flush",
        ];
        for text in texts {
            assert_eq!(text.parse::<Method>().map(|method| method.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("poll:1ms".parse(), Ok(Method::POLL));
    }

    #[test]
    fn what_is_no_method_is_refused_with_what_there_is() {
        for text in ["", "wait", "poll:", "poll:1us", "poll:11s", "poll:soon", "wait-for:replay", "sleep:1ms"]
        {
            let error = text.parse::<Method>().map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.contains("busy-poll")), "{text}");
        }
    }

    #[test]
    fn an_lsn_is_written_as_the_server_reads_it() {
        assert_eq!(in_words(0x1_0000_00a8), "1/000000A8");
        assert_eq!(in_words(0), "0/00000000");
    }
}
