//! Finds the file of a program that an operator named, and the folder around it that it needs to read.

use std::fs;
use std::path::{Path, PathBuf};

use super::program::find_program;
use crate::config::Config;

/// The folder in which npm keeps packages side by side, so that one reads the others that it needs.
const PACKAGES: &str = "node_modules";

/// Where no program of ours may lie, because agents write there.
#[derive(Clone, Debug)]
pub struct WrittenByAgents {
    /// The home of Chorus.
    pub home: PathBuf,
    /// Folders of the machine in which agents may work.
    pub folders: Vec<PathBuf>,
}

/// Why there is no program to start. The text ends a state: `failed (npx is not in PATH)`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    #[error("{0} is not in PATH")]
    NotInPath(String),
    #[error("{} is not a program", .0.display())]
    NotOne(PathBuf),
    #[error("{} lies in Chorus's home, where agents may write; move it elsewhere", .0.display())]
    InHome(PathBuf),
    #[error("{} lies in a folder in which agents may work (`folders` of config.json); move it elsewhere", .0.display())]
    InFolder(PathBuf),
}

/// Finds `command`: a name in the daemon's `PATH`, or an absolute path.
///
/// # Errors
///
/// When there is none, or agents could replace it.
pub fn program_file(command: &str, written: &WrittenByAgents) -> Result<PathBuf, NoProgram> {
    let file = if command.starts_with('/') {
        PathBuf::from(command)
    } else if command.contains('/') {
        return Err(NoProgram::NotOne(PathBuf::from(command)));
    } else {
        find_program(command).ok_or_else(|| NoProgram::NotInPath(command.to_owned()))?
    };
    let real = fs::canonicalize(&file).ok().filter(|real| real.is_file());
    let real = real.ok_or_else(|| NoProgram::NotOne(file.clone()))?;
    check_place(&file, &real, written)?;
    Ok(file)
}

/// Checks that a program which runs files named by its arguments runs none that agents write.
///
/// # Errors
///
/// When an argument names such a file. Files that other programs only read may lie there.
pub fn check_arguments(
    program: &Path,
    arguments: &[String],
    written: &WrittenByAgents,
) -> Result<(), NoProgram> {
    if !runs_files(program) {
        return Ok(());
    }
    for path in arguments.iter().flat_map(|text| paths_in(text)) {
        let real = fs::canonicalize(path).ok().filter(|real| real.is_file());
        if let Some(real) = real {
            check_place(Path::new(path), &real, written)?;
        }
    }
    Ok(())
}

/// Checks that agents cannot write the file `real`, which `path` leads to.
fn check_place(path: &Path, real: &Path, written: &WrittenByAgents) -> Result<(), NoProgram> {
    if fs::canonicalize(&written.home).is_ok_and(|home| real.starts_with(home)) {
        return Err(NoProgram::InHome(path.to_owned()));
    }
    let folders = written.folders.iter();
    let mut folders = folders.filter_map(|folder| fs::canonicalize(folder).ok());
    if folders.any(|folder| real.starts_with(folder)) {
        return Err(NoProgram::InFolder(path.to_owned()));
    }
    Ok(())
}

/// Programs that run files named by their arguments, without the digits at the end of their names.
const RUN_FILES: [&str; 22] = [
    "ash", "bash", "bun", "busybox", "dash", "deno", "env", "fish", "java", "ksh", "lua", "node",
    "perl", "php", "pypy", "python", "ruby", "sh", "timeout", "ts-node", "tsx", "zsh",
];

/// Returns whether a program runs files that its arguments name.
fn runs_files(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    let base = name
        .map(|name| name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.'));
    base.is_some_and(|base| RUN_FILES.contains(&base))
}

/// Returns the absolute paths in an argument, which may be a script.
fn paths_in(argument: &str) -> impl Iterator<Item = &str> {
    let between = |letter: char| letter.is_whitespace() || "'\"`=:;,|&<>()".contains(letter);
    std::iter::once(argument)
        .chain(argument.split(between))
        .filter(|word| word.starts_with('/'))
}

/// Returns what a program reads for its own sake: the folder that holds its file, or the file where the folder holds more than
/// programs. `home` is Chorus's own.
pub fn around(file: &Path, home: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(file);
    match Config::why_unreadable(folder, home) {
        None => folder.to_owned(),
        Some(_) => file.to_owned(),
    }
}

/// Returns the folder of packages that a program of npm lies in, or what is around its real file.
pub fn package(file: &Path, home: &Path) -> PathBuf {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut above = real.ancestors();
    let packages = above.find(|folder| folder.file_name().is_some_and(|name| name == PACKAGES));
    match packages.filter(|folder| Config::why_unreadable(folder, home).is_none()) {
        Some(packages) => packages.to_owned(),
        None => around(&real, home),
    }
}
