//! Which folders of the machine agents are bound to: judged when somebody names one, and offered while it is typed.
//!
//! How a binding is kept and opened is `workspace::bound`'s subject.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::MetadataExt as _;
use rustix::fs::Access;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::agent::AgentDeps;
use crate::config::folders::{self, Place, Relation, Reserved, Use};
use crate::domain::{AgentConfig, AgentId};
use crate::manager::directory::Directory;
use crate::manager::directory::folder::off_thread;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::text::{self, escape};
use crate::workspace::agent_file;
use crate::workspace::{Bound, Workspace};

/// Characters of a path that an option of a command takes.
const LONGEST_OFFERED: usize = 100;

/// Names of a root that are looked through for suggestions.
const MOST_NAMES: usize = 10_000;

/// Judges which folders agents can be bound to.
pub(crate) struct Bindings {
    deps: Arc<AgentDeps>,
    directory: Arc<Directory>,
    /// Held from the comparison with other agents' folders until the binding is on the disk.
    alone: Mutex<()>,
}

/// The folder that another agent has.
struct Taken {
    by: String,
    path: PathBuf,
    place: Option<Place>,
}

impl Bindings {
    pub(crate) fn new(deps: Arc<AgentDeps>, directory: Arc<Directory>) -> Self {
        Self {
            deps,
            directory,
            alone: Mutex::default(),
        }
    }

    /// Waits until no other task binds an agent.
    pub(crate) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.alone.lock().await
    }

    /// Returns the folder that `written` names, for `agent` if that exists already.
    ///
    /// # Errors
    ///
    /// Why no agent, or not this one, can be bound to it.
    pub(crate) async fn judge(
        &self,
        written: &str,
        agent: Option<AgentId>,
    ) -> Result<Bound, ManagerError> {
        let (roots, home) = (
            self.deps.config.load().folders.clone(),
            self.deps.paths.home.clone(),
        );
        let others = self.others(agent);
        let written = written.to_owned();
        off_thread(move || judged(Path::new(&written), &roots, &home, &others)).await
    }

    /// The agents that may have a folder, with their own folders.
    fn others(&self, agent: Option<AgentId>) -> Vec<(String, PathBuf)> {
        let all = self.directory.registry.all().into_iter();
        let others = all.filter(|other| Some(other.id) != agent);
        let named = others.map(|other| {
            let own = self.deps.paths.agent(other.name.as_str());
            (other.name.to_string(), own)
        });
        named.collect()
    }

    /// Binds `agent` to `bound`, or to its own folder, and returns its configuration.
    ///
    /// # Errors
    ///
    /// When its files cannot be written.
    pub(crate) async fn bind(
        &self,
        agent: &AgentSummary,
        bound: Option<Bound>,
    ) -> Result<AgentConfig, ManagerError> {
        let path = self.deps.paths.agent(agent.name.as_str());
        off_thread(move || {
            let own = Workspace::open(&path).map_err(|error| unwritten(&error))?;
            let named = bound.as_ref().map(|bound| bound.path.clone());
            let file = Bound::change(own.agent(), bound.as_ref(), || {
                let written = agent_file::rewrite(own.agent(), |keys| {
                    keys.insert("workspace".to_owned(), json!(named));
                });
                written.map_err(std::io::Error::other)
            });
            Ok(file.map_err(|error| unwritten(&error))?.config)
        })
        .await
    }

    /// Folders directly below the roots whose path or name begins with `typed`.
    pub(crate) async fn offered(&self, typed: &str, most: usize) -> Vec<String> {
        let roots = self.deps.config.load().folders.clone();
        let typed = typed.trim().to_owned();
        let found = off_thread(move || Ok(folders_below(&roots, &typed, most)));
        found.await.unwrap_or_default()
    }
}

fn unwritten(error: &dyn std::fmt::Display) -> ManagerError {
    ManagerError::refused(format!("The folder could not be set: {error}."))
}

/// Judges a folder by its letters, by the operator's list, by what is on the disk, and by what other agents have. Nothing outside
/// that list is looked at, so users do not learn what there is.
fn judged(
    written: &Path,
    roots: &[PathBuf],
    home: &Path,
    others: &[(String, PathBuf)],
) -> Result<Bound, ManagerError> {
    let path = Bound::letters(written).map_err(|error| refused(written, &error))?;
    let Some(root) = folders::root_of(roots, &path) else {
        let why = if roots.is_empty() {
            "the operator has allowed no folders; they are listed in `folders` in `config.json`"
        } else {
            "it is not one of the folders that the operator allows with `folders` in `config.json`, nor below one"
        };
        return Err(refused(&path, &why));
    };
    if let Some(hidden) = folders::hidden_below(root, &path) {
        let why = format!(
            "{} is hidden, and programs keep settings in hidden folders that decide what they run",
            escape::code(&text::visible(hidden).0)
        );
        return Err(refused(&path, &why));
    }
    let bound = Bound::to(&path).map_err(|error| refused(&path, &error))?;
    if let Some(repository) = folders::repository_around(root, &path) {
        let why = format!(
            "{} is the inside of a git repository, which decides what git runs",
            escape::code(&text::visible(&repository.to_string_lossy()).0)
        );
        return Err(refused(&path, &why));
    }
    let place = Place::of(&path).map_err(|error| refused(&path, &error))?;
    let opened = bound.open().map_err(|error| refused(&path, &error))?;
    let meta = opened
        .dir_metadata()
        .map_err(|error| refused(&path, &error))?;
    if place.path() != path || !place.is(meta.dev(), meta.ino()) {
        return Err(refused(
            &path,
            &"it was replaced during the check; try again",
        ));
    }
    if let Some(refusal) = Reserved::of_this_machine(Some(home)).refusal(&place, Use::Workspace) {
        return Err(refused(&path, &refusal));
    }
    may_use(&path)?;
    for taken in others.iter().filter_map(taken) {
        let relation = match &taken.place {
            Some(other) => place.relation(other),
            // It is not there now, and will be again.
            None => relation_of_paths(&path, &taken.path),
        };
        if let Some(relation) = relation {
            return Err(taken.refusal(&path, relation));
        }
    }
    Ok(bound)
}

/// Checks that the daemon's user can read and write the folder.
fn may_use(path: &Path) -> Result<(), ManagerError> {
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::access(path, all).map_err(|error| {
        let why = format!(
            "the user that Chorus runs as cannot read and write it ({}); `chorus doctor` says which group or ACL is missing",
            std::io::Error::from(error)
        );
        refused(path, &why)
    })
}

/// The folder that the agent in `own` is bound to, if it is.
fn taken((by, own): &(String, PathBuf)) -> Option<Taken> {
    let path = Workspace::open(own).ok()?.bound().ok()??.path;
    Some(Taken {
        by: by.clone(),
        place: Place::of(&path).ok(),
        path,
    })
}

impl Taken {
    fn refusal(&self, path: &Path, relation: Relation) -> ManagerError {
        let other = escape::code(&self.path.display().to_string());
        let by = &self.by;
        let why = match relation {
            Relation::Equal => format!("agent `{by}` works in it"),
            Relation::Within => format!("it is inside {other}, where agent `{by}` works"),
            Relation::Contains => format!("it contains {other}, where agent `{by}` works"),
        };
        refused(path, &why)
    }
}

fn relation_of_paths(path: &Path, other: &Path) -> Option<Relation> {
    if path == other {
        Some(Relation::Equal)
    } else if path.starts_with(other) {
        Some(Relation::Within)
    } else if other.starts_with(path) {
        Some(Relation::Contains)
    } else {
        None
    }
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> ManagerError {
    let shown = text::one_line(&text::visible(&path.to_string_lossy()).0, 200);
    ManagerError::refused(format!(
        "No agent can work in {}: {}.",
        escape::code(&shown),
        text::one_line(&why.to_string(), 600)
    ))
}

/// The value of the key `workspace`.
pub(crate) fn value_of(bound: Option<&Bound>) -> Value {
    json!(bound.map(|bound| &bound.path))
}

fn folders_below(roots: &[PathBuf], typed: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = roots
        .iter()
        .flat_map(|root| {
            std::fs::read_dir(root)
                .into_iter()
                .flatten()
                .take(MOST_NAMES)
        })
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path().into_os_string().into_string().ok()?;
            let fits = name.starts_with(typed) || path.starts_with(typed);
            let is_short = path.chars().count() <= LONGEST_OFFERED;
            (fits && is_short && !name.starts_with('.')).then_some(path)
        })
        .collect();
    found.sort();
    found.dedup();
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    #[test]
    fn folders_directly_below_the_roots_are_offered() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["web", "wiki", ".hidden", "notes"] {
            fs::create_dir_all(at(name).join("inner")).unwrap();
        }
        fs::write(at("wfile"), "").unwrap();
        std::os::unix::fs::symlink("/etc", at("wlink")).unwrap();
        fs::create_dir(at(&"w".repeat(LONGEST_OFFERED))).unwrap();
        let roots = [root.path().to_owned(), root.path().join("none")];
        let offered = |typed: &str| folders_below(&roots, typed, 25);
        let path = |name: &str| at(name).display().to_string();
        assert_eq!(offered(""), ["notes", "web", "wiki"].map(path));
        assert_eq!(offered("w"), ["web", "wiki"].map(path));
        assert_eq!(offered(&path("we")), ["web"].map(path));
        assert_eq!(offered("inner"), Vec::<String>::new());
        assert_eq!(folders_below(&roots, "", 1).len(), 1);
    }

    fn reason(path: &Path, roots: &[PathBuf], others: &[(String, PathBuf)]) -> String {
        let home = tempfile::tempdir().unwrap();
        judged(path, roots, home.path(), others)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn nothing_outside_the_operators_folders_is_looked_at() {
        let reason = reason(Path::new("/srv-none/x"), &["/srv".into()], &[]);
        assert!(reason.contains("not one of the folders"), "{reason}");
    }

    #[test]
    fn folders_of_two_agents_have_nothing_in_common() {
        let root = tempfile::tempdir().unwrap();
        let (web, own) = (root.path().join("web"), tempfile::tempdir().unwrap());
        fs::create_dir_all(web.join("inner")).unwrap();
        let roots = [root.path().to_owned()];
        let agent = Workspace::open(own.path()).unwrap();
        let bound = Bound::to(&web).unwrap();
        Bound::change(agent.agent(), Some(&bound), || {
            let text = json!({ "workspace": web }).to_string();
            fs::write(own.path().join("agent.json"), text)
        })
        .unwrap();
        let others = [("lab".to_owned(), own.path().to_owned())];
        for path in [&web, &web.join("inner"), &root.path().to_owned()] {
            let reason = reason(path, &roots, &others);
            assert!(reason.contains("agent `lab` works"), "{reason}");
        }
        // What is not there now still belongs to the agent.
        fs::remove_dir_all(&web).unwrap();
        let reason = reason(root.path(), &roots, &others);
        assert!(reason.contains("agent `lab` works"), "{reason}");
    }
}
