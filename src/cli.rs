//! The command line: one subcommand per file.

mod application;
mod archive;
mod audit;
mod backup;
mod charter;
mod check_config;
mod completions;
mod discord_api;
mod doctor;
mod environment;
mod failure;
mod handover;
mod home_files;
mod init;
mod looking;
mod man;
mod mcp;
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
mod status;
mod table;
mod usage;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use environment::EnvFile;
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
    #[command(flatten)]
    env_file: EnvFile,
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
    Status(status::Status),
    Permissions(permissions::Permissions),
    Charter(charter::Charter),
    Mcp(mcp::Mcp),
    Backup(backup::Backup),
    Restore(restore::Restore),
    MigrateHome(migrate_home::MigrateHome),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Returns whether it may be stopped at any moment without leaving anything half done.
    const fn only_prints(&self) -> bool {
        match self {
            Self::Doctor(_)
            | Self::CheckConfig(_)
            | Self::Schema(_)
            | Self::Sessions(_)
            | Self::Runs(_)
            | Self::Audit(_)
            | Self::Usage(_)
            | Self::Status(_)
            | Self::Permissions(_)
            | Self::Charter(_)
            | Self::Completions(_)
            | Self::Man(_) => true,
            Self::Run(_)
            | Self::Playground(_)
            | Self::Init(_)
            | Self::Mcp(_)
            | Self::Service(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::MigrateHome(_) => false,
        }
    }
}

/// Runs the command in the arguments. Exit codes: 0 done, 1 failed, 78 the operator must change something first.
pub fn main() -> ExitCode {
    // clap itself answers --help, --version and arguments it does not know.
    let arguments = Arguments::parse();
    if arguments.command.only_prints() {
        // A reader that stops early, such as `head`, is not a failure.
        sigpipe::reset();
    }
    match dispatch(arguments.command, &arguments.env_file) {
        Ok(()) => output::end(),
        Err(failure @ Failure::Answered) => failure.exit_code(),
        Err(failure) => {
            output::tell(format_args!("chorus: {failure}\n"));
            failure.exit_code()
        }
    }
}

fn dispatch(command: Command, env_file: &EnvFile) -> Result<(), Failure> {
    match &command {
        Command::Schema(_)
        | Command::Permissions(_)
        | Command::Completions(_)
        | Command::Man(_) => env_file.refuse("this command does not read the environment")?,
        Command::Service(_) => env_file.refuse(
            "a service is started without it; keep secrets in its credentials or in .env of the home",
        )?,
        Command::Run(_)
        | Command::Playground(_)
        | Command::Init(_)
        | Command::Doctor(_)
        | Command::CheckConfig(_)
        | Command::Sessions(_)
        | Command::Runs(_)
        | Command::Audit(_)
        | Command::Usage(_)
        | Command::Status(_)
        | Command::Charter(_)
        | Command::Mcp(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::MigrateHome(_) => {}
    }
    match command {
        Command::Run(run) => run.run(env_file),
        Command::Playground(playground) => playground.run(env_file),
        Command::Init(init) => init.run(env_file),
        Command::Doctor(doctor) => doctor.run(env_file),
        Command::CheckConfig(check) => check.run(env_file),
        Command::Schema(schema) => schema.run(),
        Command::Service(service) => service.run(),
        Command::Sessions(sessions) => sessions.run(env_file),
        Command::Runs(runs) => runs.run(env_file),
        Command::Audit(audit) => audit.run(env_file),
        Command::Usage(usage) => usage.run(env_file),
        Command::Status(status) => status.run(env_file),
        Command::Permissions(permissions) => permissions.run(),
        Command::Charter(charter) => charter.run(env_file),
        Command::Mcp(mcp) => mcp.run(env_file),
        Command::Backup(backup) => backup.run(env_file),
        Command::Restore(restore) => restore.run(env_file),
        Command::MigrateHome(migrate) => migrate.run(env_file),
        Command::Completions(completions) => completions.run(self::command()),
        Command::Man(man) => man.run(self::command()),
    }
}

/// Returns the whole command line, for completions, the man page and the documentation's test.
pub fn command() -> clap::Command {
    Arguments::command()
}
