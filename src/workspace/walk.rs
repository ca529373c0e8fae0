//! Walks the files of a jail that people count as the project: without those in `.gitignore`, and without git's own
//! folder.
//!
//! Folders are opened one by one beneath their parent's descriptor, never by path, so that a folder swapped for a link
//! leads nowhere. A walk has no time limit: run it in a worker process, where it can be ended.

use std::io;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::WorkspacePath;
use super::{jail, regular_file};

/// Most names that are read in one walk.
const MOST_NAMES: usize = 200_000;

/// Most levels of folders that are walked.
const DEEPEST: usize = 64;

/// Most bytes of a `.gitignore` that are read.
const LONGEST_IGNORE_FILE: u64 = 256 * 1024;

/// Most bytes of one of its lines: no path on Linux is longer, and deeper nesting is hostile.
const LONGEST_RULE: usize = 4096;

/// Most rules of one file: more than an honest one has, and as many as fit into a worker's memory.
const MOST_RULES: usize = 4096;

/// Whether a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the next file.
    On,
    /// No further: enough was found.
    Enough,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    Whole,
    /// It was ended early: enough was found, or there were too many names.
    Partly,
}

struct Walk<'a> {
    names_left: usize,
    is_left_out: &'a dyn Fn(&WorkspacePath) -> bool,
    visit: &'a mut dyn FnMut(&WorkspacePath) -> Step,
}

/// Calls `visit` with each regular file below `folder`, in the order of their names.
///
/// `path` is the path of `folder` in its workspace. Unreadable folders are skipped, and so are files and folders for
/// which `is_left_out` is true.
pub fn files(
    folder: &Dir,
    path: &WorkspacePath,
    is_left_out: &dyn Fn(&WorkspacePath) -> bool,
    visit: &mut dyn FnMut(&WorkspacePath) -> Step,
) -> Walked {
    let mut walk = Walk {
        names_left: MOST_NAMES,
        is_left_out,
        visit,
    };
    match walk.folder(folder, path, &mut Vec::new()) {
        Step::On => Walked::Whole,
        Step::Enough => Walked::Partly,
    }
}

impl Walk<'_> {
    fn folder(
        &mut self,
        folder: &Dir,
        path: &WorkspacePath,
        rules: &mut Vec<(usize, Gitignore)>,
    ) -> Step {
        // A rule is about paths below its folder, so the length of that folder's path is kept with it.
        let prefix = if path.is_root() {
            0
        } else {
            path.as_str().len() + 1
        };
        let own = ignore_rules(folder);
        let has_own = own.is_some();
        rules.extend(own.map(|own| (prefix, own)));
        let step = self.names(folder, path, rules);
        if has_own {
            rules.pop();
        }
        step
    }

    fn names(
        &mut self,
        folder: &Dir,
        path: &WorkspacePath,
        rules: &mut Vec<(usize, Gitignore)>,
    ) -> Step {
        let names = sorted_names(folder, self.names_left + 1).unwrap_or_default();
        for (name, is_folder) in names {
            if self.names_left == 0 {
                return Step::Enough;
            }
            self.names_left -= 1;
            let Ok(below) = WorkspacePath::parse(path.join(&name).as_str()) else {
                continue;
            };
            if below.is_repository()
                || is_ignored(rules, &below, is_folder)
                || (self.is_left_out)(&below)
            {
                continue;
            }
            let step = match is_folder {
                false => (self.visit)(&below),
                true if below.as_str().matches('/').count() > DEEPEST => Step::On,
                true => match jail::below(folder, &name) {
                    Ok(folder) => self.folder(&folder, &below, rules),
                    Err(_) => Step::On,
                },
            };
            if step == Step::Enough {
                return step;
            }
        }
        Step::On
    }
}

/// Returns the regular files and folders of a folder, of its first `most` names; links and special files are not
/// walked.
fn sorted_names(folder: &Dir, most: usize) -> io::Result<Vec<(String, bool)>> {
    let mut names = Vec::new();
    for entry in folder.entries()?.take(most) {
        let entry = entry?;
        let file_type = entry.file_type()?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if file_type.is_file() || file_type.is_dir() {
            names.push((name, file_type.is_dir()));
        }
    }
    names.sort();
    Ok(names)
}

/// Returns whether the innermost rule that matches a path ignores it.
fn is_ignored(rules: &[(usize, Gitignore)], path: &WorkspacePath, is_folder: bool) -> bool {
    for (prefix, rules) in rules.iter().rev() {
        match rules.matched(&path.as_str()[*prefix..], is_folder) {
            Match::None => {}
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
        }
    }
    false
}

fn ignore_rules(folder: &Dir) -> Option<Gitignore> {
    let text = regular_file::head(folder, ".gitignore", LONGEST_IGNORE_FILE).ok()??;
    let mut builder = GitignoreBuilder::new("");
    let text = String::from_utf8_lossy(&text);
    let rules = text.lines().filter(|line| line.len() <= LONGEST_RULE);
    for line in rules.take(MOST_RULES) {
        // A line that is not a pattern ignores nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
