//! A new agent's folder.

use std::fs;
use std::path::Path;

use chorus::domain::AgentName;
use chorus::workspace::template::Template;
use chorus::workspace::{Workspace, repository};

/// An agent folder as `/agent init` makes it, without its repository.
pub(crate) fn new_folder(parent: &Path, name: &str) -> Workspace {
    let folder = parent.join(name);
    Template::Embedded.copy_to(&folder).unwrap();
    Workspace::open(&folder).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_embedded_template_is_the_source_tree_s() {
    let home = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("template");
    Template::Embedded
        .copy_to(&home.path().join("embedded"))
        .unwrap();
    Template::Folder(source)
        .copy_to(&home.path().join("copied"))
        .unwrap();
    for file in ["agent.json", "docs/README.md", "workspace/.gitkeep"] {
        let read = |from: &str| fs::read(home.path().join(from).join(file)).unwrap();
        assert_eq!(read("embedded"), read("copied"), "{file}");
    }
    for folder in ["embedded", "copied"] {
        let found = names(&home.path().join(folder));
        assert_eq!(found, ["agent.json", "docs", "sessions", "workspace"]);
    }
}

#[test]
fn a_template_with_a_link_in_it_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let template = home.path().join("template");
    fs::create_dir(&template).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", template.join("secret")).unwrap();
    let refused = Template::Folder(template).copy_to(&home.path().join("new"));
    assert!(refused.unwrap_err().to_string().contains("secret"));
}

#[test]
fn a_folder_that_is_there_is_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    new_folder(home.path(), "lab");
    assert!(
        Template::Embedded
            .copy_to(&home.path().join("lab"))
            .is_err()
    );
}

#[test]
fn the_first_commit_is_the_agent_s_own() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let name = AgentName::parse("lab").unwrap();
    repository::create(&workspace.own_files_folder(), &name).unwrap();

    let opened = git2::Repository::open(workspace.own_files_folder()).unwrap();
    let commit = opened.head().unwrap().peel_to_commit().unwrap();
    assert_eq!(commit.author().to_string(), "lab <lab@chorus.local>");
    assert_eq!(commit.parent_count(), 0);
    assert!(commit.tree().unwrap().get_name(".gitkeep").is_some());
    assert!(opened.statuses(None).unwrap().is_empty());
}

#[test]
fn no_template_is_looked_for_where_the_program_is_started() {
    // These tests are started in the source tree, which looks as one that an agent could have made.
    assert!(std::path::Path::new("template/agent.json").is_file());
    assert_eq!(Template::find(None), Template::Embedded);
    let named = std::path::PathBuf::from("/srv/template");
    assert_eq!(Template::find(Some(named.clone())), Template::Folder(named));
}
