//! The name of a member's role.

use std::fmt;
use std::str::FromStr;

/// Characters of a role.
const LENGTH: std::ops::RangeInclusive<usize> = 2..=32;

/// The name of the agent of the channel, which no member has.
const LEAD: &str = "lead";

/// A role: 2 to 32 of `a-z 0-9 - _`, a letter or digit at both ends, and not `lead`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Role(String);

/// Why a word is no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    #[error("a role is 2 to 32 of a-z, 0-9, - and _")]
    Invalid,
    #[error("lead is the agent of the channel; take another role")]
    Lead,
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(word: &str) -> Result<Self, RoleError> {
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = word.as_bytes();
        let ends = bytes.first().is_some_and(plain) && bytes.last().is_some_and(plain);
        let inner = bytes
            .iter()
            .all(|byte| plain(byte) || matches!(byte, b'-' | b'_'));
        if !LENGTH.contains(&bytes.len()) || !ends || !inner {
            return Err(RoleError::Invalid);
        }
        if word == LEAD {
            return Err(RoleError::Lead);
        }
        Ok(Self(word.to_owned()))
    }
}

impl Role {
    /// Returns its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_a_short_plain_word() {
        for word in ["db", "back-end", "a_1", "0x", &"a".repeat(32)] {
            assert_eq!(word.parse::<Role>().map(|role| role.0), Ok(word.to_owned()));
        }
        for word in [
            "",
            "a",
            "-a",
            "a-",
            "_a",
            "Db",
            "a b",
            "a/b",
            "ä1",
            "..",
            &"a".repeat(33),
        ] {
            assert_eq!(word.parse::<Role>(), Err(RoleError::Invalid), "{word}");
        }
        assert_eq!("lead".parse::<Role>(), Err(RoleError::Lead));
    }
}
