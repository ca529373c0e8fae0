//! Decisions about the session with the gateway: the meaning of a disconnect, when to resume and when to identify.
//! Pure.

use std::time::Duration;

use crate::discord::error::DiscordError;

/// RESUMEs that may fail in a row before the session is given up.
const RESUMES: u32 = 3;

/// Discord accepts one IDENTIFY in five seconds.
const BETWEEN_IDENTIFIES: Duration = Duration::from_secs(5);

/// The first pause after a connection that failed; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// A connection that was accepted and lasted this long counts as good.
const GOOD_AFTER: Duration = Duration::from_secs(2);

/// The longest pause between connections that are accepted and lost at once: a resume is cheap, and people wait.
const SHORT_LIVED: Duration = Duration::from_secs(3);

/// The data that a new connection needs in order to resume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id, from READY.
    pub id: String,
    /// The address at which Discord wants it resumed.
    pub address: Option<String>,
    /// The last event's number.
    pub sequence: u64,
    /// Failed RESUMEs since the last one that succeeded.
    pub failures: u32,
}

impl Session {
    /// Returns whether to try one more RESUME.
    pub const fn may_be_resumed(&self) -> bool {
        self.failures < RESUMES
    }
}

/// How a connection ended, and what to do next.
#[derive(Debug)]
pub enum Disconnect {
    /// The session continues with the next connection.
    Resume(String),
    /// The session is lost; the next connection identifies.
    Identify(String),
    /// Discord will not accept any further connection.
    Final(DiscordError),
}

/// Returns the meaning of a close with this code; `None` for a close frame without one, or for none at all.
pub fn after_close(code: Option<u16>) -> Disconnect {
    let Some(code) = code else {
        return Disconnect::Resume("the connection closed without a reason".into());
    };
    let closed =
        |what: &str| Disconnect::Final(DiscordError::Closed(format!("{what} (close code {code})")));
    match code {
        4004 => Disconnect::Final(DiscordError::Token),
        4010 => closed("it refused the shard, which is a bug in Chorus; update Chorus"),
        4011 => closed(
            "the bot is in more servers than one connection may serve, and Chorus has only one; remove it from some",
        ),
        4012 => closed("it no longer supports this version of its protocol; update Chorus"),
        4013 => closed("it does not know an intent that Chorus asked for; update Chorus"),
        4014 => Disconnect::Final(DiscordError::Intent),
        4003 | 4006 | 4007 | 4009 => {
            Disconnect::Identify(format!("the session is gone (close code {code})"))
        }
        _ => Disconnect::Resume(format!("the gateway closed with code {code}")),
    }
}

/// The pauses between connections, which grow while these fail.
#[derive(Debug, Default)]
pub struct Backoff(Duration);

impl Backoff {
    /// Returns the pause after a connection that was or was not accepted, and lasted this long.
    pub fn after(&mut self, was_accepted: bool, lived: Duration) -> Duration {
        self.0 = match was_accepted {
            true if lived >= GOOD_AFTER => Duration::ZERO,
            true => (self.0 * 2).clamp(FIRST_PAUSE, SHORT_LIVED),
            false => (self.0 * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE),
        };
        self.0
    }
}

/// How many sessions Discord lets us begin, by `GET /gateway/bot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// In a day.
    pub total: u64,
    /// Until the day is over.
    pub remaining: u64,
    /// When the day is over.
    pub reset_after: Duration,
}

impl Budget {
    /// Returns the time from one IDENTIFY to the next: half of a day's may be used as fast as Discord accepts them, the
    /// rest is spread over the remaining day.
    pub fn spacing(&self) -> Duration {
        if self.remaining.saturating_mul(2) > self.total {
            return BETWEEN_IDENTIFIES;
        }
        let left = u32::try_from(self.remaining).unwrap_or(u32::MAX).max(1);
        (self.reset_after / left).max(BETWEEN_IDENTIFIES)
    }

    /// Returns how long the next IDENTIFY must wait; `since` is the time since our last one.
    pub fn wait(&self, since: Option<Duration>) -> Duration {
        if self.remaining == 0 {
            return self.reset_after;
        }
        match since {
            Some(since) => self.spacing().saturating_sub(since),
            None => Duration::ZERO,
        }
    }
}

impl Default for Budget {
    /// Returns the values that apply if Discord does not send any.
    fn default() -> Self {
        Self {
            total: 1_000,
            remaining: 1_000,
            reset_after: Duration::from_secs(24 * 60 * 60),
        }
    }
}
