//! Programs of members: which are there, and whether one asks before it runs a command.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check::Check;
use crate::config::{AgentProgram, Config, Env};
use crate::exec::{Bubblewrap, Sandbox, SandboxSettings};
use crate::store::CheckResult;
use crate::team::{self, CheckError, Checked};
use crate::text;

/// The name of these checks.
const NAME: &str = "programs";

/// Bytes of a package's description that are read.
const LONGEST: u64 = 1 << 20;

/// Looks for the program of each entry of `agent_servers`; without entries there is nothing to check.
pub(super) fn found(env: &Env, config: &Config) -> Option<Check> {
    let programs = config.agent_programs();
    if programs.is_empty() {
        return None;
    }
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for program in programs.values() {
        match team::check_program(program, config, &env.paths.home) {
            Ok(file) => there.push(match version(&file) {
                Some(version) => format!("{} {version}", program.id),
                None => program.id.clone(),
            }),
            Err(why) => missing.push(format!("{}: {why}", program.id)),
        }
    }
    Some(if missing.is_empty() {
        Check::ok(NAME, format!("found: {}", there.join(", ")))
    } else {
        let remedy = "install them, or take their entries out of agent_servers in config.json";
        Check::warning(NAME, missing.join("; "), remedy)
    })
}

/// The version of the npm package that a program's file lies in.
fn version(file: &Path) -> Option<String> {
    let real = std::fs::canonicalize(file).ok()?;
    let package: PathBuf = real
        .ancestors()
        .skip(1)
        .map(|folder| folder.join("package.json"))
        .find(|package| package.is_file())?;
    if std::fs::metadata(&package).ok()?.len() > LONGEST {
        return None;
    }
    let package: Value = serde_json::from_slice(&std::fs::read(package).ok()?).ok()?;
    let version = package.get("version")?.as_str()?;
    Some(text::visible(&text::one_line(version, 64)).0)
}

/// Checks one program by what it does.
pub(super) async fn behaviour(env: &Env, config: &Config, id: &str) -> Check {
    let programs = config.agent_programs();
    let Some(program) = programs.get(id) else {
        let known: Vec<&str> = programs.keys().map(String::as_str).collect();
        let remedy = if known.is_empty() {
            "add it to agent_servers in config.json".to_owned()
        } else {
            format!("write one of: {}", known.join(", "))
        };
        let id = text::one_line(id, 64);
        return Check::failure(NAME, format!("there is no program {id}"), remedy);
    };
    match checked(env, config, program).await {
        Ok(checked) => told(program, &checked),
        Err(why) => {
            let remedy = "run it by hand once, then repeat this check";
            Check::failure(NAME, format!("{id}: {why}"), remedy)
        }
    }
}

async fn checked(
    env: &Env,
    config: &Config,
    program: &AgentProgram,
) -> Result<Checked, CheckError> {
    let settings = SandboxSettings {
        helper: std::env::current_exe()?,
        bubblewrap: Bubblewrap::Search,
        read: config.sandbox_read.clone(),
    };
    let sandbox = Sandbox::probe(&settings).await;
    let sandbox = sandbox.map_err(team::StartError::from)?;
    let longest = config.team.spawn_timeout.get();
    team::check(program, config, &env.paths.home, &sandbox, longest).await
}

/// The result as people read it.
fn told(program: &AgentProgram, checked: &Checked) -> Check {
    let mut who = program.id.clone();
    if let Some(version) = &checked.version {
        who = format!("{who} {version}");
    }
    if let Some(mode) = &checked.mode {
        who = format!(
            "{who} (mode {})",
            text::visible(&text::one_line(mode, 64)).0
        );
    }
    match checked.result {
        CheckResult::Asks => Check::ok(NAME, format!("{who} asks before commands")),
        CheckResult::DoesNotAsk => Check::warning(
            NAME,
            format!("{who} does not ask before commands: only the sandbox confines it"),
            "set default_mode to a mode in which it asks",
        ),
        CheckResult::Unknown => Check::warning(
            NAME,
            format!(
                "{who} could not be checked: {}",
                checked.detail.as_deref().unwrap_or("nothing was seen")
            ),
            "treat it as a program that does not ask before commands",
        ),
    }
}
