//! `chorus completions`: the files that packages install for shells.

use super::failure::Failure;
use super::output::print_text;

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  chorus completions bash > ~/.local/share/bash-completion/completions/chorus")]
pub(super) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints the completions of the whole command line.
    pub(super) fn run(self, mut command: clap::Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "chorus", &mut script);
        print_text!("{}", String::from_utf8_lossy(&script));
        Ok(())
    }
}
