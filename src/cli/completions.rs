//! `chorus completions` and `chorus man`: what packages install beside the program.

use std::io;

use anyhow::Context;

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
    pub(super) fn run(self) -> Result<(), Failure> {
        clap_complete::generate(
            self.shell,
            &mut super::command(),
            "chorus",
            &mut io::stdout(),
        );
        Ok(())
    }
}

/// Print the man page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  chorus man > chorus.1")]
pub(super) struct Man {}

impl Man {
    pub(super) fn run(self) -> Result<(), Failure> {
        clap_mangen::Man::new(super::command())
            .render(&mut io::stdout())
            .context("writing the man page")?;
        Ok(())
    }
}
