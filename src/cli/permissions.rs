//! `chorus permissions check`: what a profile says of actions, without home or token.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use serde_json::json;

use super::failure::Failure;
use crate::domain::ProfileRef;
use crate::permission::{Action, Profile, Profiles, Verdict};
use crate::text;

/// Try out permission profiles.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo 'tool:bash:git push origin main' | chorus permissions check --profile guarded
  chorus permissions check --profile mine.json --json < actions.txt")]
pub(super) struct Permissions {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Judge actions from standard input, one a line
    ///
    /// An action is `tool:<tool>:<detail>`. One that holds line breaks is written as a JSON string. Each answer is
    /// the decision, the action and the reason, separated by tabs.
    Check {
        /// Name of a built-in profile, or a JSON file with lists allow, ask and deny
        #[arg(long, value_name = "FILE|NAME")]
        profile: String,
        /// Answer with one JSON object a line
        #[arg(long)]
        json: bool,
    },
}

impl Permissions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let What::Check { profile, json } = self.what;
        let profile = load(&profile)?;
        let form = if json { Form::Json } else { Form::Text };
        Ok(check(&profile, form)?)
    }
}

#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
}

fn check(profile: &Profile, form: Form) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line.context("reading the actions")?;
        if line.is_empty() {
            continue;
        }
        let action = spelled_out(line);
        let verdict = match Action::parse(&action) {
            Ok(parsed) => profile.decide(&parsed, &[]),
            Err(error) => Verdict::deny(error.to_string()),
        };
        match form {
            Form::Text => {
                let (shown, _) = text::visible(&action);
                writeln!(
                    out,
                    "{}\t{}\t{}",
                    verdict.decision,
                    shown.replace(['\n', '\t'], " "),
                    verdict.reason
                )?;
            }
            Form::Json => {
                let answer = json!({ "action": action, "decision": verdict.decision, "reason": verdict.reason });
                writeln!(out, "{answer}")?;
            }
        }
    }
    out.flush().context("writing the answers")
}

/// A line that is a JSON string means what it spells.
fn spelled_out(line: String) -> String {
    match line.starts_with('"') {
        true => serde_json::from_str(&line).unwrap_or(line),
        false => line,
    }
}

/// A file where it looks like one or is one, else a built-in profile.
fn load(profile: &str) -> Result<Arc<Profile>, Failure> {
    let path = Path::new(profile);
    let is_file = profile.contains('/') || profile.ends_with(".json") || path.is_file();
    if !is_file {
        let resolved =
            Profiles::builtin().and_then(|all| all.resolve(&ProfileRef::Named(profile.to_owned())));
        return resolved.map_err(|error| Failure::Configuration(error.to_string()));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Failed(anyhow!("{} cannot be read: {error}", path.display())))?;
    let value = serde_json::from_str(&text)
        .map_err(|error| Failure::Configuration(format!("{}: {error}", path.display())))?;
    match Profile::parse(&value) {
        Ok(profile) => Ok(Arc::new(profile)),
        Err(error) => Err(Failure::Configuration(format!(
            "{}: {error}",
            path.display()
        ))),
    }
}
