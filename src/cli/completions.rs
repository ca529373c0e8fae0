//! `chorus completions` and `chorus man`: what packages install beside the program.

use std::path::PathBuf;
use std::{fs, io};

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
    /// Of the whole command line.
    pub(super) fn run(self, mut command: clap::Command) -> Result<(), Failure> {
        clap_complete::generate(self.shell, &mut command, "chorus", &mut io::stdout());
        Ok(())
    }
}

/// Print the man page, or write one for each command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus man | man -l -
  chorus man --directory ~/.local/share/man/man1")]
pub(super) struct Man {
    /// Write chorus.1, chorus-run.1 and so on into this directory
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Man {
    /// Of the whole command line.
    pub(super) fn run(self, command: clap::Command) -> Result<(), Failure> {
        let written = match &self.directory {
            None => clap_mangen::Man::new(command).render(&mut io::stdout()),
            Some(directory) => fs::create_dir_all(directory).and_then(|()| {
                clap_mangen::generate_to(command.disable_help_subcommand(true), directory)
            }),
        };
        written.context("writing the man page")?;
        Ok(())
    }
}
