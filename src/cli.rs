//! The command line: one subcommand a file.

mod application;
mod archive;
mod audit;
mod backup;
mod charter;
mod check_config;
mod completions;
mod discord_api;
mod doctor;
mod failure;
mod handover;
mod home_files;
mod init;
mod looking;
mod man;
mod migrate_home;
mod model_source;
mod output;
mod permissions;
mod playground;
mod progress;
mod restore;
mod run;
mod runs;
mod schema;
mod service;
mod sessions;
mod table;
mod usage;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use failure::Failure;

/// A daemon that turns each Discord channel into an autonomous AI agent.
#[derive(Debug, Parser)]
#[command(
    name = "chorus",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Playground(playground::PlaygroundCommand),
    Init(init::Init),
    Doctor(doctor::Doctor),
    CheckConfig(check_config::CheckConfig),
    Schema(schema::Schema),
    Service(service::Service),
    Sessions(sessions::Sessions),
    Runs(runs::Runs),
    Audit(audit::Audit),
    Usage(usage::Usage),
    Permissions(permissions::Permissions),
    Charter(charter::Charter),
    Backup(backup::Backup),
    Restore(restore::Restore),
    MigrateHome(migrate_home::MigrateHome),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Whether it may end at any moment without leaving something half done.
    const fn only_prints(&self) -> bool {
        match self {
            Self::Doctor(_)
            | Self::CheckConfig(_)
            | Self::Schema(_)
            | Self::Sessions(_)
            | Self::Runs(_)
            | Self::Audit(_)
            | Self::Usage(_)
            | Self::Permissions(_)
            | Self::Charter(_)
            | Self::Completions(_)
            | Self::Man(_) => true,
            Self::Run(_)
            | Self::Playground(_)
            | Self::Init(_)
            | Self::Service(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::MigrateHome(_) => false,
        }
    }
}

/// Runs what the arguments say. Exit codes: 0 done, 1 failed, 78 the operator must change something first.
pub fn main() -> ExitCode {
    // clap itself answers --help, --version and arguments it does not know.
    let arguments = Arguments::parse();
    if arguments.command.only_prints() {
        // A reader that stops early, such as `head`, is no failure.
        sigpipe::reset();
    }
    match dispatch(arguments.command) {
        Ok(()) => output::end(),
        Err(failure @ Failure::Answered) => failure.exit_code(),
        Err(failure) => {
            output::tell(format_args!("chorus: {failure}\n"));
            failure.exit_code()
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(run) => run.run(),
        Command::Playground(playground) => playground.run(),
        Command::Init(init) => init.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::CheckConfig(check) => check.run(),
        Command::Schema(schema) => schema.run(),
        Command::Service(service) => service.run(),
        Command::Sessions(sessions) => sessions.run(),
        Command::Runs(runs) => runs.run(),
        Command::Audit(audit) => audit.run(),
        Command::Usage(usage) => usage.run(),
        Command::Permissions(permissions) => permissions.run(),
        Command::Charter(permissions) => permissions.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::MigrateHome(migrate) => migrate.run(),
        Command::Completions(completions) => completions.run(self::command()),
        Command::Man(man) => man.run(self::command()),
    }
}

/// The whole command line, for completions, the man page and the documentation's test.
pub fn command() -> clap::Command {
    Arguments::command()
}
