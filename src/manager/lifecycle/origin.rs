//! What a new agent is made from: a charter, a template folder, or another agent. All of it is read and compiled before
//! anything is made, so that a mistake leaves nothing behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::charter::{self, Catalog, Charter, Known, Place, Role, Trust};
use crate::domain::{AgentConfig, ProfileRef};
use crate::manager::error::ManagerError;
use crate::text;
use crate::workspace::agent_file::{self, AgentFile};
use crate::workspace::charter_places::Places;
use crate::workspace::template::copy_folder;
use crate::workspace::{Version, Workspace, charter_file};

/// Where templates lie in the home.
const TEMPLATES: &str = "templates";

/// Folders of a template that a new agent gets.
const OF_TEMPLATE: &[&str] = &["charters", "docs", "workspace"];

/// Folders of another agent that a new agent gets: its workspace and its sessions stay its own.
const OF_AGENT: &[&str] = &["charters", "docs"];

/// Keys of `agent.json` that belong to one agent alone.
const OWN_KEYS: &[&str] = &[
    "id",
    "name",
    "channel_id",
    "owner_id",
    "created_at",
    "back_since",
    "running_tasks",
    "workspace",
];

/// What a person named, with what the manager knows about it.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// A role or a template.
    Named(String),
    Agent {
        name: String,
        folder: PathBuf,
    },
    /// A charter that came with the command: its file's name, and its text.
    Text {
        name: String,
        text: String,
    },
}

/// A charter that compiles, with its text as it was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) role: Role,
    pub(crate) text: String,
}

/// What a new agent is made from.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Its name for people: "the role `reviewer`".
    pub(crate) label: String,
    pub(crate) charter: Option<Written>,
    /// The `agent.json` that it starts with, without the keys of another agent.
    pub(crate) file: Option<AgentFile>,
    folder: Option<PathBuf>,
    parts: &'static [&'static str],
}

impl Origin {
    /// Reads and compiles what is `wanted`.
    ///
    /// # Errors
    ///
    /// All problems of the charter in one message, or why there is none.
    pub(crate) fn read(
        wanted: &Wanted,
        home: &Path,
        known: &Known<'_>,
    ) -> Result<Self, ManagerError> {
        match wanted {
            Wanted::Text { name, text } => {
                let name = text::one_line(name, 60);
                let roles = catalog(None, home, known);
                let written = written(text.as_bytes(), &name, &roles, known)?;
                Ok(Self::of_charter(written))
            }
            Wanted::Agent { name, folder } => {
                let label = format!("the agent `{name}`");
                let mut origin = Self::of_folder(label, folder, OF_AGENT, home, known)?;
                if let Some(file) = &mut origin.file {
                    file.config.always_allow.clear();
                    file.raw.remove("always_allow");
                }
                Ok(origin)
            }
            Wanted::Named(name) => {
                let folder = home.join(TEMPLATES).join(name);
                if is_template(name) && is_folder(&folder) {
                    let label = format!("the template `{name}`");
                    return Self::of_folder(label, &folder, OF_TEMPLATE, home, known);
                }
                let roles = catalog(None, home, known);
                match role_of(&roles, None, home, name, known) {
                    Ok(written) => Ok(Self::of_charter(written)),
                    Err(NoRole::Unknown) => Err(unknown(name, &roles, home)),
                    Err(NoRole::Broken(error)) => Err(error),
                }
            }
        }
    }

    fn of_charter(written: Written) -> Self {
        Self {
            label: format!("the role `{}`", written.role.name),
            charter: Some(written),
            file: None,
            folder: None,
            parts: &[],
        }
    }

    fn of_folder(
        label: String,
        folder: &Path,
        parts: &'static [&'static str],
        home: &Path,
        known: &Known<'_>,
    ) -> Result<Self, ManagerError> {
        let unreadable = |error: &dyn std::fmt::Display| {
            ManagerError::refused(format!(
                "{label} cannot be read: {error}. Nothing was made."
            ))
        };
        let opened = Workspace::open(folder).map_err(|error| unreadable(&error))?;
        let version = charter_file::version(opened.agent()).map_err(|error| unreadable(&error))?;
        let charter = match version {
            None => None,
            Some(_) => {
                let bytes = charter_file::read(opened.agent(), charter_file::NAME);
                let bytes = bytes.map_err(|error| unreadable(&error))?;
                let roles = catalog(Some(&opened), home, known);
                Some(written(&bytes, charter_file::NAME, &roles, known)?)
            }
        };
        let file = match Version::of(opened.agent(), agent_file::NAME) {
            Err(_) => None,
            Ok(_) => Some(agent_file::read(opened.agent()).map_err(|error| unreadable(&error))?),
        };
        Ok(Self {
            charter,
            file: file.map(without_own_keys),
            folder: Some(folder.to_owned()),
            parts,
            label,
        })
    }

    /// The profile that it asks for; a file does not grant it.
    pub(crate) fn profile(&self) -> Option<&ProfileRef> {
        match (&self.file, &self.charter) {
            (Some(file), _) => Some(&file.config.permissions),
            (None, Some(charter)) => charter.role.own_profile.as_ref(),
            (None, None) => None,
        }
    }

    /// The model that its configuration names.
    pub(crate) fn model(&self) -> Option<&str> {
        self.file.as_ref()?.config.model.as_deref()
    }

    pub(crate) fn config(&self) -> Option<&AgentConfig> {
        self.file.as_ref().map(|file| &file.config)
    }

    /// Puts its files into a folder that is being made.
    ///
    /// # Errors
    ///
    /// When one of them is a link or too large, or the disk fails.
    pub(crate) fn copy_to(&self, to: &Path) -> std::io::Result<()> {
        for part in self.parts {
            let Some(from) = self.folder.as_ref().map(|folder| folder.join(part)) else {
                continue;
            };
            if !is_folder(&from) {
                continue;
            }
            let to = to.join(part);
            if to.symlink_metadata().is_ok() {
                fs::remove_dir_all(&to)?;
            }
            fs::create_dir(&to)?;
            copy_folder(&from, &to)?;
        }
        match &self.charter {
            Some(charter) => {
                let folder = Dir::open_ambient_dir(to, ambient_authority())?;
                charter_file::write(&folder, charter.text.as_bytes())
            }
            None => Ok(()),
        }
    }
}

/// Why a name does not name a role.
pub(crate) enum NoRole {
    Unknown,
    Broken(ManagerError),
}

/// The roles that an agent in `folder` can have as its own, without those of repositories: an agent could rewrite these.
pub(crate) fn catalog(folder: Option<&Workspace>, home: &Path, known: &Known<'_>) -> Catalog {
    let places = Places::open(folder, home, false);
    Catalog::compile(places.read(&places.stamps()), known)
}

/// The role `name` with its text.
pub(crate) fn role_of(
    roles: &Catalog,
    folder: Option<&Workspace>,
    home: &Path,
    name: &str,
    known: &Known<'_>,
) -> Result<Written, NoRole> {
    let entry = roles.find(name).ok_or(NoRole::Unknown)?;
    if let Err(problems) = &entry.role {
        let problems = problems.of_file_named(&entry.path);
        return Err(NoRole::Broken(refused(&problems)));
    }
    let read = |error: &dyn std::fmt::Display| {
        NoRole::Broken(refused(&format!("{}: {error}", entry.path)))
    };
    let bytes = match (entry.place, folder) {
        (Place::BuiltIn, _) => charter::built_in(name).unwrap_or_default().into(),
        (Place::Agent, Some(folder)) => {
            let whole = Path::new(&entry.path);
            let path: PathBuf = whole.iter().skip(2).collect();
            charter_file::read(folder.agent(), &path.to_string_lossy()).map_err(|e| read(&e))?
        }
        (Place::Agent | Place::Home | Place::Workspace, _) => {
            let home = Dir::open_ambient_dir(home, ambient_authority()).map_err(|e| read(&e))?;
            charter_file::read(&home, &entry.path).map_err(|error| read(&error))?
        }
    };
    written(&bytes, &entry.path, roles, known).map_err(NoRole::Broken)
}

/// The charter for the agent in `folder`: the role that `value` names, or `value` itself if it has several lines.
///
/// # Errors
///
/// All problems of the charter, or the names of the roles that there are.
pub(crate) fn named_or_written(
    value: &str,
    folder: &Path,
    home: &Path,
    known: &Known<'_>,
) -> Result<Written, ManagerError> {
    let opened = Workspace::open(folder).ok();
    let roles = catalog(opened.as_ref(), home, known);
    if value.contains('\n') {
        return written(value.as_bytes(), charter_file::NAME, &roles, known);
    }
    let name = value.trim();
    match role_of(&roles, opened.as_ref(), home, name, known) {
        Ok(written) => Ok(written),
        Err(NoRole::Broken(error)) => Err(error),
        Err(NoRole::Unknown) => {
            let (given, near, names) = hints(name, names_of(&roles));
            Err(ManagerError::refused(format!(
                "There is no role `{given}`.{near} The roles are {names}. Attach your own charter as a text file with the option `file`."
            )))
        }
    }
}

/// Compiles a charter for an agent. `shown` is its file's name for people.
pub(crate) fn written(
    bytes: &[u8],
    shown: &str,
    roles: &Catalog,
    known: &Known<'_>,
) -> Result<Written, ManagerError> {
    let charter = Charter {
        path: charter_file::NAME,
        bytes,
        trust: Trust::People,
    };
    let compiled = charter::compile(&charter, known).and_then(|role| {
        if role.names_roles() {
            roles.check(&role)?;
        }
        Ok(role)
    });
    let role = compiled.map_err(|problems| refused(&problems.of_file_named(shown)))?;
    let text = String::from_utf8_lossy(bytes).into_owned();
    Ok(Written { role, text })
}

/// Every problem of a charter, for the person who wanted it.
fn refused(problems: &str) -> ManagerError {
    ManagerError::refused(format!(
        "The charter cannot be used, so nothing was changed:\n{}",
        text::visible(problems).0
    ))
}

/// The names of roles and templates that an agent can be made from, and of those that cannot be used.
pub(crate) fn names(home: &Path, known: &Known<'_>) -> BTreeSet<String> {
    let mut names = templates(home);
    names.extend(names_of(&catalog(None, home, known)));
    names
}

fn templates(home: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(home.join(TEMPLATES)).into_iter().flatten();
    let folders = entries.flatten().filter(|entry| is_folder(&entry.path()));
    folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_template(name))
        .collect()
}

fn unknown(name: &str, roles: &Catalog, home: &Path) -> ManagerError {
    let mut names = templates(home);
    names.extend(names_of(roles));
    let (given, near, names) = hints(name, names);
    ManagerError::refused(format!(
        "There is no role or template `{given}`.{near} The names are {names}. Write another agent as `@name`."
    ))
}

fn names_of(roles: &Catalog) -> BTreeSet<String> {
    let entries = roles.entries().iter();
    entries.map(|entry| entry.name.clone()).collect()
}

/// Names for people in place of one that does not exist: a similar one, and all others.
fn hints(name: &str, names: BTreeSet<String>) -> (String, String, String) {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = text::near(name, names.iter().copied());
    (
        text::one_line(&text::visible(name).0, 60),
        near.map_or(String::new(), |near| format!(" Did you mean `{near}`?")),
        names.join(", "),
    )
}

/// Whether it is a single name of a folder, without a path.
fn is_template(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Whether a folder exists there, itself and not a link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

fn without_own_keys(mut file: AgentFile) -> AgentFile {
    for key in OWN_KEYS {
        file.raw.remove(*key);
    }
    let config = std::mem::take(&mut file.config);
    file.config = AgentConfig {
        id: None,
        name: String::new(),
        channel_id: None,
        owner_id: None,
        created_at: None,
        back_since: None,
        running_tasks: Vec::new(),
        ..config
    };
    file
}
