//! `chorus permissions check`: the decisions of a profile on actions, without home or token.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use serde_json::{Map, Value};

use super::failure::Failure;
use crate::domain::{CallId, ProfileRef, ToolCall};
use crate::permission::{Profile, Profiles, Stack, check};
use crate::text;
use crate::tools::Registry;

/// Try out permission profiles.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo 'tool:bash:git push origin main' | chorus permissions check --profile guarded
  chorus permissions check --profile mine.json --json < calls.jsonl")]
pub(super) struct Permissions {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Judge actions from standard input, one per line
    ///
    /// An action is `tool:<tool>:<detail>`; one that holds line breaks is written as a JSON string. Each answer is the
    /// decision, the action and the reason, separated by tabs. With --json each line is an object, {"action": "…"} or
    /// {"tool": "bash", "arguments": {…}}, and so is each answer: {"decision": "…", "reason": "…"}.
    Check {
        /// Name of a built-in profile, or a JSON file with lists allow, ask and deny
        ///
        /// Given more than once, all of them hold and the strictest decides. Entries of always_allow are for the first.
        #[arg(long, required = true, value_name = "FILE|NAME")]
        profile: Vec<String>,
        /// Read and write one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

impl Permissions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let What::Check { profile, json } = self.what;
        let profiles = load_all(&profile)?;
        let form = if json { Form::Json } else { Form::Text };
        Ok(check(&profiles, form)?)
    }
}

#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
}

fn check(profiles: &Stack, form: Form) -> anyhow::Result<()> {
    let registry = Registry::standard();
    let prepare = |tool: &str, arguments: Map<String, Value>| {
        let written = ToolCall {
            id: CallId::default(),
            name: tool.to_owned(),
            arguments,
        };
        let call = written.meant();
        registry
            .prepare(&call.name, &call.arguments)
            .map(|prepared| prepared.action)
            .map_err(|invalid| check::Refusal::Call(invalid.into()))
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().split(b'\n') {
        let line = line.context("reading the actions")?;
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        match form {
            Form::Text => {
                let action = spelled_out(&line);
                let verdict = check::judge_text(profiles, &action);
                let (shown, _) = text::visible(&action);
                let shown = shown.replace(['\n', '\t'], " ");
                writeln!(out, "{}\t{shown}\t{}", verdict.decision, verdict.reason)?;
            }
            Form::Json => {
                let verdict = check::judge_json(profiles, &line, &prepare);
                let verdict = serde_json::to_string(&verdict)?;
                writeln!(out, "{}", text::visible_json(&verdict))?;
            }
        }
    }
    out.flush().context("writing the answers")
}

/// Decodes a line that is a JSON string.
fn spelled_out(line: &str) -> String {
    if line.starts_with('"') {
        serde_json::from_str(line).unwrap_or_else(|_| line.to_owned())
    } else {
        line.to_owned()
    }
}

/// Loads the profiles in their order; reasons name all except the first as they were given.
fn load_all(given: &[String]) -> Result<Stack, Failure> {
    let (own, further) = given
        .split_first()
        .ok_or_else(|| anyhow!("no profile was given"))?;
    let mut stack = Stack::new(load(own)?);
    for one in further {
        stack = stack.with(format!("`{}`", text::visible(one).0), load(one)?);
    }
    Ok(stack)
}

/// Loads a built-in profile, or a file. A file of the working directory never replaces a built-in profile: an agent may
/// have written it.
fn load(profile: &str) -> Result<Arc<Profile>, Failure> {
    let path = Path::new(profile);
    let built_in = Profiles::default().resolve(&ProfileRef::Named(profile.to_owned()));
    let looks_like_file = profile.contains('/') || profile.ends_with(".json");
    if !looks_like_file && (built_in.is_ok() || !path.is_file()) {
        return built_in.map_err(|error| Failure::Configuration(error.to_string()));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Failed(anyhow!("{} cannot be read: {error}", path.display())))?;
    let value = text::json::refuse_double_keys(&text)
        .and_then(|()| serde_json::from_str(&text))
        .map_err(|error| Failure::Configuration(format!("{}: {error}", path.display())))?;
    match Profile::parse(&value) {
        Ok(profile) => Ok(Arc::new(profile)),
        Err(error) => Err(Failure::Configuration(format!(
            "{}: {error}",
            path.display()
        ))),
    }
}
