//! `chorus charter`: what the files that describe roles come to, without home or token.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use super::failure::Failure;
use crate::charter::{self, Known, MAX_BYTES, Problems, Role, Trust};
use crate::permission::Profiles;
use crate::tools::Registry;

/// Check the files that describe roles.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus charter check charters/reviewer.md
  chorus charter check --json .claude/agents/*.md")]
pub(super) struct Charter {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Check charters and print every problem with its line
    ///
    /// Exits with 1 when a file has problems. A file below `.claude/agents/` or `.github/agents/` is read as one of a
    /// repository: what is doubtful there is left out with a note.
    Check {
        /// Markdown files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Read all files as those of a repository
        #[arg(long)]
        repository: bool,
        /// Print one JSON object for all files
        #[arg(long)]
        json: bool,
    },
}

impl Charter {
    pub(super) fn run(self) -> Result<(), Failure> {
        let What::Check {
            files,
            repository,
            json,
        } = self.what;
        let registry = Registry::standard();
        let tools: Vec<&str> = registry.infos().map(|info| info.name).collect();
        let profiles = Profiles::builtin().context("a built-in profile")?;
        let known = Known {
            tools: &tools,
            profiles: &profiles,
            models: None,
        };
        let checked: Vec<Checked> = files
            .into_iter()
            .map(|path| check(path, repository, &known))
            .collect();
        if json {
            let files: Vec<Value> = checked.iter().map(Checked::to_json).collect();
            println!("{:#}", json!({ "files": files }));
        } else {
            checked.iter().for_each(Checked::print);
        }
        match checked.iter().filter(|file| file.outcome.is_err()).count() {
            0 => Ok(()),
            1 => Err(anyhow!("1 of {} files has problems", checked.len()).into()),
            bad => Err(anyhow!("{bad} of {} files have problems", checked.len()).into()),
        }
    }
}

/// A file and what came of it.
struct Checked {
    path: PathBuf,
    outcome: Result<Box<Role>, Problems>,
}

impl Checked {
    fn to_json(&self) -> Value {
        let path = self.path.to_string_lossy();
        match &self.outcome {
            Ok(role) => json!({
                "path": path, "ok": true, "name": role.name, "problems": [], "notes": role.notes,
            }),
            Err(problems) => json!({
                "path": path, "ok": false, "name": null, "problems": problems.as_slice(), "notes": [],
            }),
        }
    }

    fn print(&self) {
        let path = self.path.display();
        match &self.outcome {
            Ok(role) => {
                println!("{path}: OK (role {})", role.name);
                for note in &role.notes {
                    match note.line {
                        0 => println!("{path}: note: {}", note.message),
                        line => println!("{path}, line {line}: note: {}", note.message),
                    }
                }
            }
            Err(problems) => {
                for problem in problems.as_slice() {
                    let between = if problem.line > 0 { "," } else { ":" };
                    println!("{path}{between} {problem}");
                }
            }
        }
    }
}

fn check(path: PathBuf, repository: bool, known: &Known<'_>) -> Checked {
    let name = path.to_string_lossy().into_owned();
    let is_foreign = name.contains(".claude/agents/") || name.contains(".github/agents/");
    let trust = if repository || is_foreign {
        Trust::Repository
    } else {
        Trust::People
    };
    let outcome = match read(&path) {
        Ok(bytes) => charter::compile(
            &charter::Charter {
                path: &name,
                bytes: &bytes,
                trust,
            },
            known,
        )
        .map(Box::new),
        Err(reason) => Err(Problems::of_file(reason, "name a Markdown file")),
    };
    Checked { path, outcome }
}

/// A regular file's bytes, one more than may be at most.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let seen = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !seen.is_file() {
        return Err("this is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}
