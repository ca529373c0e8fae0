//! `chorus completions`: what packages install for shells.

use std::io;

use super::failure::Failure;

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  chorus completions bash > ~/.local/share/bash-completion/completions/chorus")]
pub(super) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Of the whole command line.
    pub(super) fn run(self, mut command: clap::Command) -> Result<(), Failure> {
        clap_complete::generate(self.shell, &mut command, "chorus", &mut io::stdout());
        Ok(())
    }
}
