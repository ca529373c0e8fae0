//! `chorus charter`: checks, lists and shows the files that describe roles, without home or token.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use super::environment::EnvFile;
use super::failure::Failure;
use super::output::{print_json, print_line};
use crate::charter::{self, Catalog, Entry, Known, MAX_BYTES, Problems, Role, Trust};
use crate::config::{Config, Paths};
use crate::domain::AgentName;
use crate::permission::Profiles;
use crate::text;
use crate::tools::Registry;
use crate::workspace::charter_places::Places;
use crate::workspace::{Workspace, charter_file};

/// Deepest level of folders that is searched, as in an agent's places.
const DEEPEST: usize = 4;

/// Check, list and show the files that describe roles.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus charter check charters/reviewer.md
  chorus charter check --json .claude/agents/*.md
  chorus charter list --agent lab
  chorus charter show explore")]
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
        /// Markdown files, or folders of them; each file of a folder is explained in one line
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Read all files as those of a repository
        #[arg(long)]
        repository: bool,
        /// Print one JSON object for all files
        #[arg(long)]
        json: bool,
    },
    /// List the roles of this home, and the errors in files that cannot be used
    List {
        /// Include the roles that this agent can take
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Print one JSON object for all roles
        #[arg(long)]
        json: bool,
    },
    /// Print a compiled role as JSON
    ///
    /// Exits with 1 when there is no such role, or its file has problems.
    Show {
        /// Name of the role
        name: String,
        /// As this agent sees it, including its own role
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
}

impl Charter {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        match self.what {
            What::Check {
                files,
                repository,
                json,
            } => {
                env_file.refuse("this command does not read the environment")?;
                let profiles = Profiles::default();
                with_known(&profiles, |known| check_all(files, repository, json, known))
            }
            What::List { agent, json } => {
                let (paths, profiles) = of_home(env_file)?;
                let of = agent.as_deref();
                with_known(&profiles, |known| list(&catalog(&paths, of, known)?, json))
            }
            What::Show { name, agent } => {
                let (paths, profiles) = of_home(env_file)?;
                let of = agent.as_deref();
                with_known(&profiles, |known| show(&paths, of, &name, known))
            }
        }
    }
}

/// Calls `work` with the tools and profiles that charters are checked against; no models are known here.
fn with_known(
    profiles: &Profiles,
    work: impl FnOnce(&Known<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let registry = Registry::standard();
    let tools: Vec<&str> = registry.infos().map(|info| info.name).collect();
    work(&Known {
        tools: &tools,
        profiles,
        models: None,
    })
}

/// Returns the home and its profiles.
fn of_home(env_file: &EnvFile) -> Result<(Paths, Profiles), Failure> {
    let paths = env_file.of_process()?.paths;
    let config = Config::load(&paths.config())?;
    let profiles = config.permission_profiles();
    Ok((paths, profiles.context("a profile of config.json")?))
}

fn catalog(paths: &Paths, agent: Option<&str>, known: &Known<'_>) -> Result<Catalog, Failure> {
    let workspace = match agent {
        Some(name) => Some(folder_of(paths, name)?),
        None => None,
    };
    let places = Places::open(workspace.as_ref(), &paths.home, true);
    Ok(Catalog::compile(places.read(&places.stamps()), known))
}

fn folder_of(paths: &Paths, agent: &str) -> Result<Workspace, Failure> {
    let name = AgentName::parse(agent).map_err(|error| {
        Failure::Configuration(format!("`{agent}` is not a valid agent name: {error}"))
    })?;
    let folder = paths.agent(name.as_str());
    let opened = Workspace::open(&folder);
    Ok(opened.with_context(|| format!("reading the folder of {name}"))?)
}

fn list(catalog: &Catalog, json: bool) -> Result<(), Failure> {
    if json {
        let roles: Vec<Value> = catalog.entries().iter().map(listed).collect();
        print_json(&json!({ "roles": roles }))?;
        return Ok(());
    }
    for entry in catalog.entries() {
        let (name, path) = (&entry.name, &entry.path);
        match (&entry.role, &entry.hidden_by) {
            (_, Some(first)) => {
                print_line!("{name}: {path}: not used, {first} has a role with the same name")
            }
            (Ok(role), None) => print_line!("{name}: {path}: {}", role.description),
            (Err(problems), None) => print_line!("{}", problems.of_file_named(path)),
        }
    }
    Ok(())
}

fn listed(entry: &Entry) -> Value {
    let role = entry.role.as_ref();
    json!({
        "name": entry.name,
        "path": entry.path,
        "ok": role.is_ok() && entry.hidden_by.is_none(),
        "description": role.ok().map(|role| role.description.as_str()),
        "hidden_by": entry.hidden_by,
        "problems": role.map_or_else(|problems| problems.as_slice(), |_| &[]),
        "notes": role.map_or(&[][..], |role| role.notes.as_slice()),
    })
}

fn show(paths: &Paths, agent: Option<&str>, name: &str, known: &Known<'_>) -> Result<(), Failure> {
    let catalog = catalog(paths, agent, known)?;
    if let Some(own) = own_role(paths, agent, known)?
        && own.name == name
    {
        return print(&own);
    }
    let Some(entry) = catalog.find(name) else {
        let names = catalog.entries().iter().map(|entry| entry.name.as_str());
        let names: Vec<&str> = names.collect();
        let hint = match text::near(name, names.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are {}", names.join(", ")),
        };
        return Err(anyhow!("there is no role {}: {hint}", text::visible(name).0).into());
    };
    match &entry.role {
        Ok(role) => print(role),
        Err(problems) => Err(anyhow!("{}", problems.of_file_named(&entry.path)).into()),
    }
}

fn print(role: &Role) -> Result<(), Failure> {
    Ok(print_json(role)?)
}

/// Returns the role of the agent's own charter, if it can be used.
fn own_role(
    paths: &Paths,
    agent: Option<&str>,
    known: &Known<'_>,
) -> Result<Option<Role>, Failure> {
    let Some(agent) = agent else {
        return Ok(None);
    };
    let path = folder_of(paths, agent)?.folder().join(charter_file::NAME);
    let outcome = check(path, false, known).outcome;
    Ok(outcome.ok().map(|role| *role))
}

fn check_all(
    files: Vec<PathBuf>,
    repository: bool,
    json: bool,
    known: &Known<'_>,
) -> Result<(), Failure> {
    let mut checked = Vec::new();
    for path in files {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            checked.extend(check_folder(&path, repository, known));
        } else {
            checked.push(check(path, repository, known));
        }
    }
    if json {
        let files: Vec<Value> = checked.iter().map(Checked::to_json).collect();
        print_json(&json!({ "files": files }))?;
    } else {
        checked.iter().for_each(Checked::print);
    }
    match checked.iter().filter(|file| file.outcome.is_err()).count() {
        0 => Ok(()),
        1 => Err(anyhow!("1 of {} files has problems", checked.len()).into()),
        bad => Err(anyhow!("{bad} of {} files have problems", checked.len()).into()),
    }
}

/// A file, and its role or the problems in it.
struct Checked {
    path: PathBuf,
    outcome: Result<Box<Role>, Problems>,
    /// Whether it is explained in one line, as part of a folder.
    is_brief: bool,
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
            Ok(role) if self.is_brief => print_line!("{path}: OK ({})", brief(role)),
            Err(problems) if self.is_brief => {
                let [first, others @ ..] = problems.as_slice() else {
                    return;
                };
                let between = if first.line > 0 { "," } else { ":" };
                match others.len() {
                    0 => print_line!("{path}{between} {first}"),
                    others => {
                        let more = text::count(others, "more problem", "more problems");
                        print_line!("{path}{between} {first} ({more})");
                    }
                }
            }
            Ok(role) => {
                print_line!("{path}: OK (role {})", role.name);
                for note in &role.notes {
                    match note.line {
                        0 => print_line!("{path}: note: {}", note.message),
                        line => print_line!("{path}, line {line}: note: {}", note.message),
                    }
                }
            }
            Err(problems) => {
                for problem in problems.as_slice() {
                    let between = if problem.line > 0 { "," } else { ":" };
                    print_line!("{path}{between} {problem}");
                }
            }
        }
    }
}

/// Lists in a few words what a role may use.
fn brief(role: &Role) -> String {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut parts = vec![format!("role {}", role.name)];
    parts.push(match (&role.tools, role.disallowed_tools.is_empty()) {
        (None, true) => "all tools".to_owned(),
        (None, false) => format!("all tools except {}", list(&role.disallowed_tools)),
        (Some(tools), _) => match list(&(tools - &role.disallowed_tools)) {
            names if names.is_empty() => "no tools".to_owned(),
            names => format!("tools {names}"),
        },
    });
    if !role.permissions.is_empty() {
        parts.push("narrower permissions".to_owned());
    }
    if !role.notes.is_empty() {
        parts.push(text::count(role.notes.len(), "note", "notes"));
    }
    parts.join(", ")
}

/// Checks every Markdown file in `folder` and below, in the order of their paths.
fn check_folder(folder: &Path, repository: bool, known: &Known<'_>) -> Vec<Checked> {
    let mut files = Vec::new();
    let failed = collect(folder, DEEPEST, &mut files).err();
    files.sort();
    if files.is_empty() {
        let why = failed.map_or_else(
            || "there is no Markdown file in this folder".to_owned(),
            |error| error.to_string(),
        );
        return vec![Checked {
            path: folder.to_owned(),
            outcome: Err(Problems::of_file(why, "name another folder")),
            is_brief: true,
        }];
    }
    let checked = files.into_iter().map(|path| Checked {
        is_brief: true,
        ..check(path, repository, known)
    });
    checked.collect()
}

fn collect(folder: &Path, deeper: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_dir = entry.file_type()?.is_dir();
        if is_dir && deeper > 0 {
            collect(&path, deeper - 1, files)?;
        } else if !is_dir && path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
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
        Err(error) => Err(Problems::of_file(error.to_string(), "name a Markdown file")),
    };
    Checked {
        path,
        outcome,
        is_brief: false,
    }
}

/// Reads a regular file's bytes, at most one more than the largest charter may have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("this is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
