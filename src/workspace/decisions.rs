//! The decisions of a server's people, for all of its agents: one line each in `servers/<id>/decisions.md` of the home.
//!
//! People may edit the file. A line that does not begin with a number is kept, but agents never see it.

use std::io::{self, Write};
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use rustix::fs::OFlags;

use super::regular_file;
use crate::domain::GuildId;
use crate::text;

/// The file's name in the server's folder.
const NAME: &str = "decisions.md";

/// The folder of all servers in the home.
const SERVERS: &str = "servers";

/// Most characters of a decision.
pub const LONGEST: usize = 500;

/// Most characters of the name after a decision.
const LONGEST_NAME: usize = 60;

/// Largest file in bytes: its numbers are counted from the beginning.
const MOST_BYTES: u64 = 1 << 20;

/// Most bytes of decisions that a conversation starts with: the newest ones.
const MOST_TOLD: usize = 16 << 10;

/// One decision, as in its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub number: u32,
    /// Including its author and date.
    pub text: String,
    pub is_withdrawn: bool,
}

/// A decision to add.
#[derive(Clone, Debug)]
pub struct NewDecision {
    pub text: String,
    /// The name of its author.
    pub by: String,
    pub at: DateTime<Utc>,
}

/// Why a decision is not added or withdrawn.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    #[error("a decision says something: write what was decided")]
    Empty,
    #[error("a decision has at most {LONGEST} characters, and this has {0}")]
    TooLong(usize),
    #[error("there is no decision {0}; `/decisions list` shows them")]
    Unknown(u32),
    #[error("decision {0} is withdrawn already")]
    Withdrawn(u32),
    #[error("{NAME} has more than 1 MiB; move what is old to another file")]
    Full,
    #[error("{NAME}: {0}")]
    Disk(#[from] io::Error),
}

/// The decisions of all servers. One for the daemon's life: it allows one writer at a time.
#[derive(Debug)]
pub struct Decisions {
    home: PathBuf,
    writing: Mutex<()>,
}

impl Decisions {
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            writing: Mutex::default(),
        }
    }

    /// Returns whether the server has a file of decisions.
    pub fn are_kept(&self, guild: GuildId) -> bool {
        self.folder(guild)
            .and_then(|folder| folder.symlink_metadata(NAME))
            .is_ok_and(|meta| meta.is_file())
    }

    /// Returns all decisions of a server, including withdrawn ones, in the order of the file.
    ///
    /// # Errors
    ///
    /// Fails if the file is too long, a link or not a regular file, or the disk fails.
    pub fn all(&self, guild: GuildId) -> Result<Vec<Decision>, DecisionError> {
        Ok(read_lines(&self.text(guild)?))
    }

    /// Returns the newest valid decisions, one line each; empty if there are none.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::all`].
    pub fn told(&self, guild: GuildId) -> Result<String, DecisionError> {
        let all = self.all(guild)?;
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for decision in all.iter().rev().filter(|decision| !decision.is_withdrawn) {
            let line = line(decision);
            bytes += line.len() + 1;
            if bytes > MOST_TOLD {
                break;
            }
            lines.push(line);
        }
        lines.reverse();
        Ok(lines.join("\n"))
    }

    /// Adds a decision at the end, in one write; returns its number. A crash leaves all of it or nothing.
    ///
    /// # Errors
    ///
    /// Fails if it is empty or too long, or the file cannot be written.
    pub fn add(&self, guild: GuildId, new: &NewDecision) -> Result<Decision, DecisionError> {
        let shown = text::visible(&new.text).0;
        let words = text::one_line(&shown, usize::MAX);
        let length = words.chars().count();
        if length == 0 {
            return Err(DecisionError::Empty);
        }
        if length > LONGEST {
            return Err(DecisionError::TooLong(length));
        }
        let by = text::one_line(&text::visible(&new.by).0, LONGEST_NAME);
        let _alone = self.writing.lock();
        let before = self.text(guild)?;
        let last = read_lines(&before).iter().map(|one| one.number).max();
        let decision = Decision {
            number: last.unwrap_or_default() + 1,
            text: format!("{words} ({by}, {})", new.at.format("%Y-%m-%d")),
            is_withdrawn: false,
        };
        let gap = if before.is_empty() || before.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let folder = self.made_folder(guild)?;
        let mut options = OpenOptions::new();
        let options = options.append(true).create(true);
        let options = options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let mut file = folder.open_with(NAME, options)?;
        file.write_all(format!("{gap}{}\n", line(&decision)).as_bytes())?;
        file.sync_all()?;
        folder.open(".")?.sync_all()?;
        Ok(decision)
    }

    /// Strikes out a decision. Its number is not reused.
    ///
    /// # Errors
    ///
    /// Fails if no valid decision has that number, or the file cannot be written.
    pub fn withdraw(&self, guild: GuildId, number: u32) -> Result<Decision, DecisionError> {
        let _alone = self.writing.lock();
        let before = self.text(guild)?;
        let mut found = None;
        let lines = before.lines().map(|text| match read_line(text) {
            Some(decision) if decision.number == number => {
                let struck = Decision {
                    is_withdrawn: true,
                    ..decision.clone()
                };
                found = Some(decision);
                line(&struck)
            }
            _ => text.to_owned(),
        });
        let after: String = lines.map(|line| line + "\n").collect();
        match found {
            None => Err(DecisionError::Unknown(number)),
            Some(decision) if decision.is_withdrawn => Err(DecisionError::Withdrawn(number)),
            Some(decision) => {
                regular_file::replace(&self.folder(guild)?, NAME, after.as_bytes())?;
                Ok(decision)
            }
        }
    }

    fn text(&self, guild: GuildId) -> Result<String, DecisionError> {
        let read = self
            .folder(guild)
            .and_then(|folder| regular_file::head(&folder, NAME, MOST_BYTES + 1));
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(not_a_file().into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(error.into()),
        };
        if bytes.len() as u64 > MOST_BYTES {
            return Err(DecisionError::Full);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn folder(&self, guild: GuildId) -> io::Result<Dir> {
        let home = Dir::open_ambient_dir(&self.home, ambient_authority())?;
        home.open_dir(SERVERS)?.open_dir(guild.to_string())
    }

    fn made_folder(&self, guild: GuildId) -> io::Result<Dir> {
        let home = Dir::open_ambient_dir(&self.home, ambient_authority())?;
        home.create_dir_all(format!("{SERVERS}/{guild}"))?;
        home.open(".")?.sync_all()?;
        let servers = home.open_dir(SERVERS)?;
        servers.open(".")?.sync_all()?;
        servers.open_dir(guild.to_string())
    }
}

fn line(decision: &Decision) -> String {
    let Decision {
        number,
        text,
        is_withdrawn,
    } = decision;
    if *is_withdrawn {
        format!("- ~~{number}. {text}~~")
    } else {
        format!("- {number}. {text}")
    }
}

fn read_lines(text: &str) -> Vec<Decision> {
    text.lines().filter_map(read_line).collect()
}

/// Returns the decision in a line, if it begins like one.
fn read_line(line: &str) -> Option<Decision> {
    let item = line.trim();
    let item = item
        .strip_prefix("- ")
        .or_else(|| item.strip_prefix("* "))?;
    let struck = item.strip_prefix("~~");
    let (number, text) = struck.unwrap_or(item).split_once(". ")?;
    let text = match struck {
        Some(_) => text.strip_suffix("~~").unwrap_or(text),
        None => text,
    };
    let shown = text::visible(text).0;
    Some(Decision {
        number: number.parse().ok()?,
        text: text::one_line(&shown, LONGEST + LONGEST_NAME + 20),
        is_withdrawn: struck.is_some(),
    })
}

fn not_a_file() -> io::Error {
    io::Error::other("it is not a regular file")
}
