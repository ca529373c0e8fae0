//! What is published, and the script that installs it: from a folder, and over HTTP on loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use tempfile::TempDir;

use crate::cli::program::{Seen, seen};
use crate::not_run::python;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.packaging/install.sh");

/// A folder as `.packaging/build` leaves it; the program in it is a small script.
struct Dist(TempDir);

impl Dist {
    fn new() -> Self {
        let dist = Self(tempfile::tempdir().unwrap());
        dist.publishes("1.2.3");
        dist
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn archive(&self, version: &str) -> PathBuf {
        let name = format!("chorus-{version}-linux-{}.tar.gz", std::env::consts::ARCH);
        self.path().join(name)
    }

    fn publishes(&self, version: &str) {
        let made = tempfile::tempdir().unwrap();
        let name = format!("chorus-{version}-linux-{}", std::env::consts::ARCH);
        let folder = made.path().join(&name);
        for (path, text) in [
            (
                "chorus",
                format!("#!/bin/sh\necho chorus {version}\n").as_str(),
            ),
            ("man/chorus.1.gz", "a page"),
            ("completions/chorus.bash", "completions"),
        ] {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("chorus"), executable).unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-czf")
            .arg(self.archive(version))
            .arg("-C")
            .arg(made.path())
            .arg(name);
        assert_eq!(seen(&mut tar).code, 0);
        let mut sums = Command::new("sh");
        sums.args(["-c", "sha256sum -- *.tar.gz > SHA256SUMS"])
            .current_dir(self.path());
        assert_eq!(seen(&mut sums).code, 0);
    }

    fn edits_sums(&self, change: impl Fn(&str) -> String) {
        let file = self.path().join("SHA256SUMS");
        fs::write(&file, change(&fs::read_to_string(&file).unwrap())).unwrap();
    }

    /// Its address on loopback.
    async fn served(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let file = async |State(folder): State<PathBuf>, uri: Uri| {
            let path = folder.join(uri.path().trim_start_matches('/'));
            fs::read(path).map_err(|_| StatusCode::NOT_FOUND)
        };
        let pages = Router::new()
            .fallback(file)
            .with_state(self.path().to_owned());
        tokio::spawn(async move { axum::serve(listener, pages).await });
        format!("http://{address}")
    }
}

/// Runs the script.
async fn installs(from: &str, to: &Path) -> Seen {
    let mut command = tokio::process::Command::new("sh");
    command.arg(SCRIPT).arg(from).arg("--to").arg(to);
    super::seen(&mut command).await
}

/// What `to` has of a program: its output.
fn installed(to: &Path) -> Option<String> {
    let program = to.join("bin/chorus");
    program
        .exists()
        .then(|| seen(&mut Command::new(program)).out)
}

#[tokio::test]
async fn a_folder_or_an_address_is_installed_and_replaces_what_was_there() {
    let dist = Dist::new();
    let folder = dist.path().display().to_string();
    for from in [folder, format!("{}/", dist.served().await)] {
        let to = tempfile::tempdir().unwrap();
        let to = to.path();
        dist.publishes("1.2.3");
        let seen = installs(&from, to).await;
        assert_eq!(seen.code, 0, "{from}: {}{}", seen.out, seen.err);
        assert_eq!(installed(to).unwrap(), "chorus 1.2.3\n");
        assert!(seen.out.contains("installed chorus 1.2.3"), "{}", seen.out);
        assert!(seen.out.contains("is not in PATH"), "{}", seen.out);
        let next = format!("Try it: {}/bin/chorus playground.", to.display());
        assert!(seen.out.contains(&next), "{}", seen.out);
        assert!(to.join("share/man/man1/chorus.1.gz").exists());
        assert!(to.join("share/bash-completion/completions/chorus").exists());

        fs::remove_file(dist.archive("1.2.3")).unwrap();
        dist.publishes("1.3.0");
        assert_eq!(installs(&from, to).await.code, 0);
        assert_eq!(installed(to).unwrap(), "chorus 1.3.0\n");
        fs::remove_file(dist.archive("1.3.0")).unwrap();
        let files = fs::read_dir(to.join("bin")).unwrap().count();
        assert_eq!(files, 1, "something was left beside the program");
    }
}

#[tokio::test]
async fn what_is_not_what_the_sums_say_is_not_installed() {
    let to = tempfile::tempdir().unwrap();
    let to = to.path();
    let refused = async |dist: &Dist, reason: &str| {
        for from in [dist.path().display().to_string(), dist.served().await] {
            let seen = installs(&from, to).await;
            assert_eq!(seen.code, 1, "{from}: {}{}", seen.out, seen.err);
            assert!(seen.err.contains(reason), "{}", seen.err);
            let last = seen.err.lines().last().unwrap();
            assert!(last.starts_with("install.sh: "), "{}", seen.err);
            assert_eq!(installed(to), None);
        }
    };
    let changed = Dist::new();
    let mut archive = fs::read(changed.archive("1.2.3")).unwrap();
    let last = archive.len() - 1;
    archive[last] ^= 1;
    fs::write(changed.archive("1.2.3"), archive).unwrap();
    refused(
        &changed,
        "is not what SHA256SUMS says: nothing was installed",
    )
    .await;

    let unnamed = Dist::new();
    unnamed.edits_sums(|sums| sums.replace(std::env::consts::ARCH, "riscv64"));
    refused(&unnamed, "names no program for").await;

    // A line that would lead out of the folder names nothing.
    let outside = Dist::new();
    outside.edits_sums(|sums| sums.replace("  chorus-", "  ../chorus-"));
    refused(&outside, "names no program for").await;

    let no_sums = Dist::new();
    fs::remove_file(no_sums.path().join("SHA256SUMS")).unwrap();
    refused(&no_sums, "SHA256SUMS").await;

    let no_archive = Dist::new();
    fs::remove_file(no_archive.archive("1.2.3")).unwrap();
    refused(&no_archive, ".tar.gz").await;
}

#[tokio::test]
async fn a_script_that_arrives_in_part_does_nothing() {
    let dist = Dist::new();
    let text = fs::read_to_string(SCRIPT).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for count in (1..lines.len()).step_by(3) {
        let to = tempfile::tempdir().unwrap();
        let part = to.path().join("part.sh");
        fs::write(&part, lines[..count].join("\n")).unwrap();
        let mut command = tokio::process::Command::new("sh");
        command
            .arg(&part)
            .arg(dist.path())
            .arg("--to")
            .arg(to.path());
        super::seen(&mut command).await;
        assert_eq!(installed(to.path()), None, "after {count} lines");
    }
}

#[tokio::test]
async fn wrong_arguments_are_2() {
    let to = tempfile::tempdir().unwrap();
    for arguments in [&[][..], &["--somewhere"]] {
        let mut command = tokio::process::Command::new("sh");
        command.arg(SCRIPT).args(arguments).current_dir(to.path());
        let seen = super::seen(&mut command).await;
        assert_eq!(seen.code, 2, "{arguments:?}");
        assert!(seen.err.contains("usage: sh install.sh"), "{}", seen.err);
    }
}

#[test]
fn the_image_is_built_with_the_compiler_that_the_project_names() {
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    let (_, version) = manifest.split_once("rust-version = \"").unwrap();
    let (version, _) = version.split_once('"').unwrap();
    let image = fs::read_to_string(".packaging/Containerfile").unwrap();
    assert!(image.contains(&format!("rust:{version}-slim")), "{image}");
    let ignored = fs::read_to_string(".packaging/Containerfile.dockerignore").unwrap();
    for secret in [".env", ".packaging/.env"] {
        assert!(
            ignored.lines().any(|line| line == secret),
            "{secret} gets into the image"
        );
    }
    for needed in [
        "src",
        "crates",
        "migrations",
        "template",
        "Cargo.lock",
        ".cargo",
        "README.md",
    ] {
        assert!(Path::new(needed).exists(), "{needed}");
        assert!(
            !ignored.lines().any(|line| line == needed),
            "{needed} is left out"
        );
    }
}

#[test]
fn compose_and_alerts_are_yaml() {
    for path in [
        ".packaging/compose.yaml",
        "docs/operations/monitoring/prometheus/alerts.yml",
    ] {
        let text = fs::read_to_string(path).unwrap();
        let events = saphyr_parser::Parser::new_from_str(&text);
        let wrong: Vec<_> = events.filter_map(Result::err).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:?}");
    }
}

/// What `docker compose config` judges first. It takes no Docker: the schema is the one that is published for all who read such files.
#[test]
fn the_compose_file_keeps_to_the_published_schema() {
    let judged = |file: &Path| {
        let mut judge = python("compose", "check_jsonschema")?;
        judge.args(["-m", "check_jsonschema", "--builtin-schema"]);
        judge.arg("vendor.compose-spec").arg(file);
        Some(judge.output().unwrap())
    };
    let ours = Path::new(".packaging/compose.yaml");
    let Some(seen) = judged(ours) else {
        return;
    };
    let said = String::from_utf8_lossy(&seen.stdout);
    assert!(seen.status.success(), "{said}");
    // Or it would take anything.
    let folder = tempfile::tempdir().unwrap();
    let misspelt = folder.path().join("compose.yaml");
    let text = fs::read_to_string(ours).unwrap();
    fs::write(&misspelt, text.replace("restart:", "restrat:")).unwrap();
    let refused = judged(&misspelt).unwrap();
    let said = String::from_utf8_lossy(&refused.stdout);
    assert!(
        !refused.status.success() && said.contains("restrat"),
        "{said}"
    );
}

#[test]
fn the_inspection_tells_a_program_that_is_not_static() {
    let inspect = |program: &str, architecture: &str| {
        seen(Command::new(".packaging/inspect").args([program, architecture]))
    };
    let program = env!("CARGO_BIN_EXE_chorus");
    let own = inspect(program, std::env::consts::ARCH);
    assert_eq!(own.code, 1);
    assert!(own.err.contains("is not static"), "{}", own.err);
    let other = match std::env::consts::ARCH {
        "x86_64" => "aarch64",
        _ => "x86_64",
    };
    let wrong = inspect(program, other);
    assert!(
        wrong.err.contains(&format!("is not for {other}")),
        "{}",
        wrong.err
    );
}
