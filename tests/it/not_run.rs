//! The one rule for a test that cannot check what it should, since something is missing on this machine.
//!
//! It says so here and ends. In CI that is a failure, unless the machine itself does not allow what is needed, or what is missing comes
//! from a registry that `tests/run` could not reach. Elsewhere the test passes, and `tests/run` lists at its end what was not run.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a test goes without.
pub(crate) enum Missing {
    /// A program, and the package of Debian that has it.
    Program(&'static str, &'static str),
    /// The packages of `tests/referee`, from npm.
    Referee,
    /// The packages of this folder of `tests`, from npm.
    Npm(&'static str),
    /// The packages of this folder of `tests`, from `PyPI`.
    Python(&'static str),
    /// What cannot be installed, such as the right to make mount namespaces.
    Machine(&'static str),
}

/// Says that this test, or a part of it, was not run.
///
/// # Panics
///
/// In CI (`CI` is set), where it could have been run there.
pub(crate) fn not_run(missing: &Missing) {
    let (reason, registry) = match missing {
        Missing::Program(name, package) => (
            format!("{name} is missing (apt-get install {package})"),
            None,
        ),
        Missing::Referee => (
            "the referee is missing (npm ci --prefix tests/referee)".to_owned(),
            Some("npm"),
        ),
        Missing::Npm(folder) => (
            format!("the packages of tests/{folder} are missing (npm ci --prefix tests/{folder})"),
            Some("npm"),
        ),
        Missing::Python(folder) => (
            format!(
                "the packages of tests/{folder} are missing (python3 -m pip install --target tests/{folder}/packages -r tests/{folder}/requirements.txt)"
            ),
            Some("PyPI"),
        ),
        Missing::Machine(reason) => ((*reason).to_owned(), None),
    };
    let said = format!("not run: {}: {reason}", test());
    eprintln!("{said}");
    record(&said);
    let excused = matches!(missing, Missing::Machine(_))
        || registry.is_some_and(|registry| unreachable().contains(registry));
    assert!(
        excused || std::env::var_os("CI").is_none(),
        "CI needs what is missing here: {reason}"
    );
}

/// Python with the packages of this folder of `tests`; none where it cannot import `modules`, which is said.
pub(crate) fn python(folder: &'static str, modules: &str) -> Option<Command> {
    let packages = format!("{}/tests/{folder}/packages", env!("CARGO_MANIFEST_DIR"));
    let python = || {
        let mut python = Command::new("python3");
        python
            .env("PYTHONPATH", &packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        python
    };
    let imported = python()
        .arg("-c")
        .arg(format!("import {modules}"))
        .stderr(Stdio::null())
        .status();
    match imported {
        Err(_) => not_run(&Missing::Program("Python", "python3 python3-pip")),
        Ok(status) if !status.success() => not_run(&Missing::Python(folder)),
        Ok(_) => return Some(python()),
    }
    None
}

/// The full name of the test that asks.
fn test() -> String {
    std::env::var("NEXTEST_TEST_NAME").unwrap_or_else(|_| {
        let thread = std::thread::current();
        thread.name().unwrap_or("a test").to_owned()
    })
}

/// The registries that `tests/run` could not reach, by name.
fn unreachable() -> String {
    std::env::var("CHORUS_TEST_UNREACHABLE").unwrap_or_default()
}

/// Adds a line to the list that `tests/run` prints: what a test that passes prints is shown nowhere.
fn record(line: &str) {
    let Some(list) = std::env::var_os("CHORUS_TEST_NOT_RUN") else {
        return;
    };
    let opened = std::fs::File::options()
        .append(true)
        .create(true)
        .open(list);
    opened
        .unwrap()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}
