//! The git repository with which a workspace begins.

use std::path::Path;

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};

use crate::domain::AgentName;

/// The branch of a new repository.
const FIRST_BRANCH: &str = "main";

/// Makes a repository in `folder` with all its files in a first commit by the agent.
///
/// # Errors
///
/// When there is a repository already or it cannot be made.
pub fn create(folder: &Path, agent: &AgentName) -> Result<(), git2::Error> {
    let repository = init(folder)?;
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = author(agent)?;
    repository.commit(
        Some("HEAD"),
        &author,
        &author,
        "Begin the workspace",
        &tree,
        &[],
    )?;
    Ok(())
}

/// An empty repository in `folder`.
///
/// # Errors
///
/// When there is one already or it cannot be made.
pub fn init(folder: &Path) -> Result<Repository, git2::Error> {
    let mut options = RepositoryInitOptions::new();
    options
        .no_reinit(true)
        .mkdir(false)
        .mkpath(false)
        .external_template(false)
        .initial_head(FIRST_BRANCH);
    Repository::init_opts(folder, &options)
}

/// The agent as author: `<name> <name@chorus.local>`, now.
///
/// # Errors
///
/// When the clock says a time before 1970.
pub fn author(agent: &AgentName) -> Result<Signature<'static>, git2::Error> {
    Signature::now(agent.as_str(), &format!("{agent}@chorus.local"))
}
