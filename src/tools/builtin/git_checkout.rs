//! `git_checkout`: switches to a branch or commit. Changes that it would overwrite are refused, never lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use git2::build::CheckoutBuilder;
use git2::{BranchType, CheckoutNotificationType, Commit, DiffOptions, Repository};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct GitCheckout;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Branch, tag or commit.
    r#ref: String,
    /// Make it as a new branch first.
    #[serde(skip_serializing_if = "Option::is_none")]
    create: Option<bool>,
}

#[async_trait]
impl Tool for GitCheckout {
    type Args = Args;

    const NAME: &'static str = "git_checkout";
    const DESCRIPTION: &'static str = "Go to a branch or commit.";
    const GROUP: Group = Group::GitLocal;
    const SHELF: Option<&'static str> = Some("switch branch or commit");
    const SUBJECT: &'static str = "git:checkout";

    fn action(args: &Args) -> Action {
        Action::new("git", format!("checkout {}", args.r#ref))
    }

    fn writes(_: &Args) -> Option<String> {
        Some(".git".into())
    }

    fn deadline(_: &Args) -> Option<Duration> {
        Some(git::WRITING_DEADLINE)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        if args.is_new() {
            git::check_branch(&args.r#ref)?;
        } else {
            git::check_revision(&args.r#ref)?;
        }
        let work = Checkout {
            folder: context.services.folder(context),
            args,
        };
        Ok(context.by_worker(&work, &[]).await?.into())
    }
}

impl Args {
    fn is_new(&self) -> bool {
        self.create.unwrap_or(false)
    }
}

/// A checkout. If one is ended halfway, some files are unchanged and others are those of the target; the same checkout
/// again completes it.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Checkout {
    /// The agent's folder.
    folder: PathBuf,
    args: Args,
}

impl Work for Checkout {
    const NAME: &'static str = "git_checkout";
    const LIMITS: WorkLimits = work::GIT_WRITING;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let to = &self.args.r#ref;
        git::write(&self.folder, |opened| {
            if self.args.is_new() {
                new_branch(&opened.git, to)
            } else {
                go(&opened.git, to)
            }
        })
    }
}

fn new_branch(git: &Repository, name: &str) -> Result<String, ToolError> {
    if let Ok(head) = git.head() {
        git.branch(name, &head.peel_to_commit()?, false)?;
    }
    git.set_head(&format!("refs/heads/{name}"))?;
    Ok(format!("On new branch `{name}`."))
}

/// Writes the files of `target`. A file that already has the content of `target` counts as done: it may come from a
/// checkout that was ended halfway.
fn check_out(repository: &Repository, target: &Commit<'_>) -> Result<(), ToolError> {
    let refused = |error: git2::Error| {
        ToolError::Rejected(format!(
            "git: {}; commit your changes or put them away first",
            error.message()
        ))
    };
    let mut conflicts = Vec::new();
    let mut options = CheckoutBuilder::new();
    options
        .safe()
        .notify_on(CheckoutNotificationType::CONFLICT)
        .notify(|_, path, _, _, _| {
            conflicts.extend(path.map(Path::to_owned));
            true
        });
    let written = repository.checkout_tree(target.as_object(), Some(&mut options));
    drop(options);
    let Err(error) = written else {
        return Ok(());
    };
    if conflicts.is_empty() || !have_content_of(repository, target, &conflicts)? {
        return Err(refused(error));
    }
    let mut options = CheckoutBuilder::new();
    // It does not change the files with conflicts.
    options.safe().allow_conflicts(true);
    repository
        .checkout_tree(target.as_object(), Some(&mut options))
        .map_err(refused)?;
    let mut index = repository.index()?;
    for path in &conflicts {
        index.add_path(path)?;
    }
    index.write()?;
    Ok(())
}

/// Returns whether each of the files has the content and mode that it has in `commit`.
fn have_content_of(
    repository: &Repository,
    commit: &Commit<'_>,
    paths: &[PathBuf],
) -> Result<bool, ToolError> {
    let tree = commit.tree()?;
    if paths.iter().any(|path| tree.get_path(path).is_err()) {
        return Ok(false);
    }
    let mut options = DiffOptions::new();
    options
        .disable_pathspec_match(true)
        .include_typechange(true);
    for path in paths {
        options.pathspec(path);
    }
    let changed = repository.diff_tree_to_workdir(Some(&tree), Some(&mut options))?;
    Ok(changed.deltas().len() == 0)
}

fn go(repository: &Repository, to: &str) -> Result<String, ToolError> {
    let target = repository.revparse_single(to)?.peel_to_commit()?;
    let now = repository.head().and_then(|head| head.peel_to_tree()).ok();
    git::check_sizes(repository, now.as_ref(), &target.tree()?)?;
    check_out(repository, &target)?;
    if repository.find_branch(to, BranchType::Local).is_ok() {
        repository.set_head(&format!("refs/heads/{to}"))?;
        return Ok(format!("On branch `{to}`, at {}.", target.id()));
    }
    repository.set_head_detached(target.id())?;
    Ok(format!("On no branch, at {}.", target.id()))
}
