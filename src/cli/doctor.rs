//! `chorus doctor`: checks everything a daemon needs and says what to do. It changes nothing.

mod check;
mod discord;
mod folders;
mod git;
mod machine;
mod mcp;
mod models;
mod programs;
mod sources;
mod webhooks;

use anstyle::AnsiColor;

use self::check::{Check, Verdict};
use super::environment::{EnvFile, refuse_strangers_home};
use super::failure::Failure;
use super::looking;
use super::output::{self, print_json, print_line};
use super::progress::Progress;
use crate::config::{Config, Env};

/// The checks that name addresses.
const ADDRESSES: &str = "addresses";

/// Check home, configuration, database, git, sandbox, token, intents, servers, keys and clock; change nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus doctor
  chorus doctor --program claude
  chorus doctor --json | jq '.[] | select(.verdict != \"ok\")'")]
pub(super) struct Doctor {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
    /// Only start this program of `agent_servers`, in its sandbox and without a provider, and see whether it asks before commands
    #[arg(long, value_name = "ID")]
    program: Option<String>,
}

impl Doctor {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        refuse_strangers_home(&env)?;
        let runtime = looking::runtime()?;
        if let Some(program) = &self.program {
            let (config, configured) = configuration(&env);
            let check = match configured.verdict {
                Verdict::Ok | Verdict::Warning => {
                    runtime.block_on(programs::behaviour(&env, &config, program))
                }
                Verdict::Failure => configured,
            };
            let checks = vec![check];
            if self.json {
                print_json(&checks)?;
            } else {
                print(&checks);
            }
            return outcome(&checks);
        }
        let (config, mut checks) = runtime.block_on(look_here(&env));
        // An operator sees where secrets go before they are sent.
        if self.json {
            let addresses = checks.iter().filter(|check| check.name == ADDRESSES);
            for address in addresses {
                output::print(&mut anstream::stderr(), format_args!("{}\n", address.seen));
            }
        } else {
            print(&checks);
        }
        let asked = runtime.block_on(ask_others(&env, &config));
        if !self.json {
            print(&asked);
        }
        checks.extend(asked);
        if self.json {
            print_json(&checks)?;
        }
        outcome(&checks)
    }
}

/// Fails when a check failed.
fn outcome(checks: &[Check]) -> Result<(), Failure> {
    let failed = checks
        .iter()
        .filter(|check| check.verdict == Verdict::Failure)
        .count();
    if failed == 0 {
        return Ok(());
    }
    Err(Failure::Configuration(format!(
        "{failed} of {} checks failed; see the → lines above",
        checks.len()
    )))
}

/// Checks this machine. Nothing is sent anywhere.
async fn look_here(env: &Env) -> (Config, Vec<Check>) {
    let mut progress = Progress::new();
    let mut checks = vec![machine::user(&env.paths), machine::home(&env.paths)];
    checks.extend(machine::starts(&env.paths));
    let (config, configured) = configuration(env);
    checks.extend(sources::open_to_others(env, &config));
    checks.extend(machine::environment(env));
    checks.push(configured);
    checks.push(machine::time_zones(&config));
    checks.extend(sources::checks(env, &config));
    checks.extend(folders::checks(&env.paths, &config));
    progress.stage("looking at the database");
    checks.push(machine::database(&env.paths).await);
    checks.extend(git::checks(env, &config));
    progress.stage("trying the sandbox");
    checks.push(machine::sandbox(&config).await);
    checks.extend(mcp::checks(env, &config));
    checks.extend(webhooks::checks(env, &config));
    checks.extend(programs::found(env, &config));
    (config, checks)
}

/// Checks the answers of Discord and the model providers.
async fn ask_others(env: &Env, config: &Config) -> Vec<Check> {
    let mut progress = Progress::new();
    progress.stage("asking Discord");
    let mut checks = discord::checks(env).await;
    progress.stage("asking for models");
    checks.extend(models::checks(env, config).await);
    checks
}

/// Returns the configuration, or the defaults if it has an error.
fn configuration(env: &Env) -> (Config, Check) {
    let file = env.paths.config();
    match Config::load(&file) {
        Ok(config) => {
            let name = file.display();
            let seen = if file.exists() {
                name.to_string()
            } else {
                format!("{name} does not exist: every key has its default")
            };
            (config, Check::ok("config", seen))
        }
        Err(error) => {
            let remedy = "fix that, then run chorus check-config";
            let check = Check::failure("config", error.to_string(), remedy);
            (Config::default(), check)
        }
    }
}

fn print(checks: &[Check]) {
    for check in checks {
        let (colour, sign) = match check.verdict {
            Verdict::Ok => (AnsiColor::Green, "ok     "),
            Verdict::Warning => (AnsiColor::Yellow, "warning"),
            Verdict::Failure => (AnsiColor::Red, "FAILED "),
        };
        let colour = colour.on_default();
        output::print(
            &mut anstream::stdout(),
            format_args!(
                "{colour}{sign}{colour:#}  {:<12} {}\n",
                check.name, check.seen
            ),
        );
        if let Some(remedy) = &check.remedy {
            print_line!("{:23}→ {remedy}", "");
        }
    }
}
