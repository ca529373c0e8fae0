//! Worktrees of members: made by a worker from the vetted repository, used by the git program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chorus::domain::{AgentId, AgentName};
use chorus::exec::Workers;
use chorus::tools::{EarlierWorktree, HowMade, Made, NewWorktree, ToolError, make_worktree};
use tempfile::TempDir;

/// An agent's folder with a workspace.
struct Lab {
    folder: TempDir,
    workers: Workers,
    agent: AgentId,
}

impl Lab {
    /// One whose repository has a first commit.
    fn new() -> Self {
        let lab = Self::without_commit();
        fs::write(lab.workspace().join("code"), "code\n").unwrap();
        fs::create_dir(lab.workspace().join("src")).unwrap();
        fs::write(lab.workspace().join("src/lib"), "lib\n").unwrap();
        lab.git(&["add", "."]);
        lab.git(&["commit", "-q", "-m", "begin"]);
        lab
    }

    fn without_commit() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["workspace", "docs", "team"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let lab = Self {
            folder,
            workers: Workers::new(env!("CARGO_BIN_EXE_chorus").into()),
            agent: AgentId::random(),
        };
        lab.git(&["init", "-q", "-b", "main"]);
        lab
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn worktree(&self, role: &str) -> PathBuf {
        self.folder.path().join("team").join(role)
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.workspace(), arguments)
    }

    fn new_worktree(&self, role: &str) -> NewWorktree {
        NewWorktree {
            folder: self.folder.path().to_owned(),
            parent: self.folder.path().join("team"),
            role: role.to_owned(),
            from: None,
            agent: AgentName::parse("lab").unwrap(),
            earlier: EarlierWorktree::Refuse,
        }
    }

    async fn make(&self, new: &NewWorktree) -> Result<Made, ToolError> {
        make_worktree(&self.workers, self.agent, new).await
    }

    /// Why it is not made; nothing of it is left.
    async fn refused(&self, new: &NewWorktree) -> String {
        let before = (
            self.git(&["branch", "--list"]),
            self.git(&["worktree", "list"]),
        );
        let why = self.make(new).await.unwrap_err().to_string();
        let after = (
            self.git(&["branch", "--list"]),
            self.git(&["worktree", "list"]),
        );
        assert_eq!(before, after, "{why}");
        why
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "lab");
        command.env(format!("GIT_{role}_EMAIL"), "lab@example.org");
    }
    let outcome = command.output().unwrap();
    assert!(outcome.status.success(), "git {arguments:?}: {outcome:?}");
    String::from_utf8_lossy(&outcome.stdout).trim().to_owned()
}

#[tokio::test]
async fn a_worktree_is_one_for_git_too() {
    let lab = Lab::new();
    let made = lab.make(&lab.new_worktree("backend")).await.unwrap();
    let tip = lab.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        made,
        Made {
            tip,
            how: HowMade::Now
        }
    );
    let folder = lab.worktree("backend");
    assert_eq!(fs::read_to_string(folder.join("src/lib")).unwrap(), "lib\n");
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
    assert_eq!(git(&folder, &["branch", "--show-current"]), "team/backend");
    fs::write(folder.join("new"), "new").unwrap();
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", "work"]);
    // The workspace is as it was, and git knows of the worktree, which it does not prune.
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    assert!(
        lab.git(&["worktree", "list", "--porcelain"])
            .contains("locked A member of Chorus works here.")
    );
    lab.git(&["fsck", "--strict"]);
    // The next member of the role goes on there.
    let again = NewWorktree {
        earlier: EarlierWorktree::Reuse,
        ..lab.new_worktree("backend")
    };
    let tip = git(&folder, &["rev-parse", "HEAD"]);
    assert_eq!(
        lab.make(&again).await.unwrap(),
        Made {
            tip,
            how: HowMade::Before
        }
    );
    assert!(folder.join("new").exists());
}

#[tokio::test]
async fn a_worktree_begins_at_a_commit_by_name() {
    let lab = Lab::new();
    lab.git(&["tag", "release-8"]);
    fs::write(lab.workspace().join("later"), "later").unwrap();
    lab.git(&["add", "."]);
    lab.git(&["commit", "-q", "-m", "later"]);
    let from = |name: &str| NewWorktree {
        from: Some(name.to_owned()),
        ..lab.new_worktree("backend")
    };
    assert!(
        lab.refused(&from("release-9"))
            .await
            .contains("there is no commit release-9")
    );
    assert!(
        lab.refused(&from("--help"))
            .await
            .contains("cannot be the name of a commit")
    );
    let made = lab.make(&from("release-8")).await.unwrap();
    assert_eq!(made.tip, lab.git(&["rev-parse", "release-8"]));
    assert!(!lab.worktree("backend").join("later").exists());
}

#[tokio::test]
async fn a_branch_that_is_there_is_used_unless_it_is_checked_out() {
    let lab = Lab::new();
    lab.git(&["checkout", "-q", "-b", "team/backend"]);
    lab.git(&["commit", "-q", "--allow-empty", "-m", "earlier"]);
    let why = lab.refused(&lab.new_worktree("backend")).await;
    assert!(
        why.contains("the branch team/backend is checked out elsewhere"),
        "{why}"
    );
    lab.git(&["checkout", "-q", "main"]);
    let made = lab.make(&lab.new_worktree("backend")).await.unwrap();
    assert_eq!(made.tip, lab.git(&["rev-parse", "team/backend"]));
    assert_ne!(made.tip, lab.git(&["rev-parse", "main"]));
}

#[tokio::test]
async fn what_is_somebody_elses_is_left_alone() {
    let lab = Lab::new();
    fs::write(lab.worktree("backend"), "mine").unwrap();
    let why = lab.refused(&lab.new_worktree("backend")).await;
    assert!(why.contains("there is something at"), "{why}");
    let elsewhere = lab.folder.path().join("db");
    lab.git(&["worktree", "add", "-q", elsewhere.to_str().unwrap()]);
    for earlier in [EarlierWorktree::Refuse, EarlierWorktree::Reuse] {
        let new = NewWorktree {
            earlier,
            ..lab.new_worktree("db")
        };
        let why = lab.refused(&new).await;
        assert!(
            why.contains("a worktree called db that no member left"),
            "{why}"
        );
    }
    lab.make(&lab.new_worktree("api")).await.unwrap();
    fs::remove_dir_all(lab.worktree("api")).unwrap();
    let again = NewWorktree {
        earlier: EarlierWorktree::Reuse,
        ..lab.new_worktree("api")
    };
    assert_eq!(
        lab.make(&again).await.unwrap_err().to_string(),
        "its worktree is gone"
    );
}

#[tokio::test]
async fn a_repository_without_a_commit_gets_one() {
    let lab = Lab::without_commit();
    fs::write(lab.workspace().join("draft"), "draft").unwrap();
    let made = lab.make(&lab.new_worktree("backend")).await.unwrap();
    assert_eq!(
        lab.git(&["log", "--format=%H %an %s", "main"]),
        format!("{} lab Begin the workspace", made.tip)
    );
    // Nobody's files are committed unasked.
    assert_eq!(lab.git(&["status", "--porcelain"]), "?? draft");
}
