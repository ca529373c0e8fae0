//! A shell command, parsed once: what it runs, and what about it cannot be judged.

/// A parsed command line.
#[derive(Debug)]
pub struct Script {
    command: String,
}

impl Script {
    /// Parses `command`.
    pub(super) fn parse(command: &str) -> Self {
        Self {
            command: command.to_owned(),
        }
    }

    /// Why no narrow pattern may allow it.
    pub(super) fn doubt(&self) -> Option<String> {
        Some(format!(
            "the command of {} bytes was not taken apart",
            self.command.len()
        ))
    }
}
