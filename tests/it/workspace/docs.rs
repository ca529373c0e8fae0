//! Notes: which files stand in a request, and how much of them.

use std::fs;

use chorus::workspace::docs::DocsCache;
use insta::assert_snapshot;

use super::folder::new_folder;

#[test]
fn every_text_file_stands_under_its_path_and_nothing_else_does() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let docs = home.path().join("lab/docs");
    fs::write(docs.join("README.md"), "# Lab\n").unwrap();
    fs::create_dir(docs.join("deep")).unwrap();
    fs::write(docs.join("deep/plan.txt"), "one\ntwo\n").unwrap();
    fs::write(docs.join("picture.png"), b"\x89PNG\0\0").unwrap();
    fs::write(docs.join("latin"), b"caf\xe9 au lait").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", docs.join("passwd")).unwrap();
    std::os::unix::fs::symlink("/etc", docs.join("etc")).unwrap();
    assert_snapshot!(DocsCache::default().read(&workspace).unwrap(), @"
    ## docs/README.md

    # Lab

    ## docs/deep/plan.txt

    one
    two
    ");
}

#[test]
fn a_change_is_seen_at_the_next_read() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let cache = DocsCache::default();
    let readme = home.path().join("lab/docs/README.md");
    for text in ["one", "two", "six"] {
        // As self_edit_docs writes: a new file takes the place, so equal sizes and times still differ.
        fs::write(readme.with_extension("tmp"), text).unwrap();
        fs::rename(readme.with_extension("tmp"), &readme).unwrap();
        assert!(cache.read(&workspace).unwrap().ends_with(text));
    }
    fs::remove_file(&readme).unwrap();
    assert_eq!(&*cache.read(&workspace).unwrap(), "");
}

#[test]
fn what_does_not_fit_is_left_out_by_name() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let docs = home.path().join("lab/docs");
    fs::write(docs.join("README.md"), "first\n").unwrap();
    fs::write(docs.join("a.md"), "line of notes\n".repeat(10_000)).unwrap();
    fs::write(docs.join("b.md"), "x").unwrap();
    let text = DocsCache::default().read(&workspace).unwrap();
    assert!(text.len() < 65 * 1024, "{}", text.len());
    let (_, note) = text.rsplit_once("\n\n").unwrap();
    assert_snapshot!(note, @"[Left out, for notes have 64 KiB in all: the rest of docs/a.md, docs/b.md. Shorten them, or move what is needed rarely to the workspace.]");
}

#[test]
fn a_docs_folder_that_is_a_link_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    fs::remove_dir_all(home.path().join("lab/docs")).unwrap();
    std::os::unix::fs::symlink("/etc", home.path().join("lab/docs")).unwrap();
    let told = DocsCache::default().read(&workspace).unwrap_err();
    assert_snapshot!(told.to_string(), @"`docs` is not a folder");
}
