//! The systemd units: what they promise, and how exposed systemd thinks they are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::program::{Seen, chorus, seen};
use crate::not_run::{Missing, not_run};

/// Most exposed the service may be by systemd's own measure, in tenths.
const MOST_EXPOSED: u32 = 31;

fn unit(whose: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut command = chorus(home.path(), &["service", "install", "--print", whose]);
    let seen = seen(command.env_remove("CHORUS_HOME"));
    assert_eq!(seen.code, 0, "{}", seen.err);
    seen.out
}

/// This program as the unit names it: a copy, where the machine's service cannot see it.
fn installed(whose: &str) -> &'static str {
    let program = env!("CARGO_BIN_EXE_chorus");
    let hidden = ["/home/", "/root/", "/tmp/", "/var/tmp/", "/run/user/"];
    if whose == "--system" && hidden.iter().any(|folder| program.starts_with(folder)) {
        "/usr/local/bin/chorus"
    } else {
        program
    }
}

#[test]
fn both_units_start_this_program_and_know_its_exit_codes() {
    for whose in ["--system", "--user"] {
        let unit = unit(whose);
        let program = installed(whose);
        for line in [
            "Type=notify",
            // Or a reload of systemd ends a daemon that has waited for Discord longer than this.
            "TimeoutStartSec=infinity",
            // Or systemd ends background tasks with a daemon that crashed, and there is nothing to adopt.
            "KillMode=process",
            // Or a command that takes all memory ends the whole service.
            "OOMPolicy=continue",
            // Or all commands together take the machine with them.
            "MemoryHigh=75%",
            "MemoryMax=90%",
            "TasksMax=4096",
            "Restart=on-failure",
            "RestartPreventExitStatus=78",
            &format!("ExecStart={program} run"),
            &format!("ExecStartPre=-{program} check-config"),
        ] {
            assert!(
                unit.lines().any(|found| found == line),
                "{whose}: no {line}"
            );
        }
        assert!(unit.contains("\nWatchdogSec="), "{whose}");
        assert!(unit.contains("\nLoadCredential="), "{whose}");
    }
}

#[test]
fn the_machines_service_leaves_the_sandbox_what_it_needs() {
    let unit = unit("--system");
    // What these hide or forbid is what bubblewrap is made of: commands would run unconfined.
    for line in [
        "ProtectProc=",
        "ProcSubset=",
        "ProtectKernelTunables=",
        "ProtectKernelLogs=",
        "ProtectHostname=",
        "RestrictNamespaces=",
        "PrivateUsers=",
    ] {
        let found = unit.lines().find(|found| found.starts_with(line));
        assert_eq!(found, None);
    }
    assert!(unit.contains(" sethostname"), "bubblewrap names its host");
}

/// A `systemctl` and a `loginctl` that write down what they are told and say that all is well.
pub(super) fn written_down(folder: &Path) -> PathBuf {
    let programs = folder.join("bin");
    fs::create_dir(&programs).unwrap();
    for name in ["systemctl", "loginctl"] {
        let script = "#!/bin/sh\necho \"$@\" >> \"$HOME/told\"\necho running; echo StatusText=connected to Discord\n";
        let program = programs.join(name);
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    programs
}

#[test]
fn a_users_service_is_installed_looked_at_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let path = format!("{}:/usr/bin:/bin", written_down(home.path()).display());
    let service = |action: &str| {
        let mut run = chorus(home.path(), &["service", action, "--user"]);
        seen(run.env("PATH", &path).env_remove("CHORUS_HOME"))
    };
    let installed = service("install");
    assert_eq!(installed.code, 0, "{}", installed.err);
    let credentials = home.path().join(".config/chorus/credentials");
    assert!(
        installed
            .out
            .contains(&format!("{}/DISCORD_TOKEN", credentials.display())),
        "{}",
        installed.out
    );
    let linger = "It stops when you log out. To change that: sudo loginctl enable-linger NAME\n";
    assert!(installed.out.ends_with(linger), "{}", installed.out);
    let mode = fs::metadata(&credentials).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let file = home.path().join(".config/systemd/user/chorus.service");
    assert_eq!(fs::read_to_string(&file).unwrap(), unit("--user"));
    fs::write(credentials.join("DISCORD_TOKEN"), "kept").unwrap();

    let again = service("install");
    assert_eq!(again.code, 0, "twice is as good as once");
    let out = again.out;
    assert!(!out.contains("DISCORD_TOKEN"), "{out}");
    assert!(
        out.contains("Start it: systemctl --user start chorus\n"),
        "{out}"
    );
    assert_eq!(service("status").code, 0);
    let removed = service("uninstall");
    assert_eq!(removed.code, 0, "{}", removed.err);
    assert!(!file.exists());
    assert!(credentials.join("DISCORD_TOKEN").exists());
    let told = fs::read_to_string(home.path().join("told")).unwrap();
    insta::assert_snapshot!(told, @r"
    --user daemon-reload
    --user enable chorus.service
    --user daemon-reload
    --user enable chorus.service
    --user status --no-pager chorus.service
    --user disable --now chorus.service
    --user disable --now chorus-backup.timer
    --user daemon-reload
    --user reset-failed chorus.service
    ");
    let again = service("uninstall");
    assert_eq!(again.code, 1);
    assert!(again.err.contains("nothing is installed"), "{}", again.err);
}

/// In a mount namespace where this person's services go on without a log-in.
#[test]
fn who_lingers_is_not_told_how() {
    let home = tempfile::tempdir().unwrap();
    let programs = written_down(home.path());
    let program = env!("CARGO_BIN_EXE_chorus");
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-ec"])
            .arg(format!("mount -t tmpfs tmpfs /var/lib; {script}"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .env("HOME", home.path())
            .env("USER", "ann")
            .current_dir(home.path());
        seen(&mut command)
    };
    if inside("true").code != 0 {
        not_run(&Missing::Machine("this takes mount namespaces"));
        return;
    }
    let install = format!("{program} service install --user");
    let told = inside(&install);
    assert_eq!(told.code, 0, "{}", told.err);
    let how = "To change that: sudo loginctl enable-linger ann\n";
    assert!(told.out.ends_with(how), "{}", told.out);
    let lingers = inside(&format!(
        "mkdir -p /var/lib/systemd/linger; touch /var/lib/systemd/linger/ann; {install}"
    ));
    assert_eq!(lingers.code, 0, "{}", lingers.err);
    assert!(!lingers.out.contains("log out"), "{}", lingers.out);
}

/// systemd has answered; nothing failed.
#[test]
fn a_service_that_does_not_run_is_an_answer() {
    let home = tempfile::tempdir().unwrap();
    let programs = written_down(home.path());
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let status = |code: i32| {
        let script = format!("#!/bin/sh\necho 'what systemd says'\nexit {code}\n");
        fs::write(programs.join("systemctl"), script).unwrap();
        let mut run = chorus(home.path(), &["service", "status", "--user"]);
        let seen = seen(run.env("PATH", &path));
        assert_eq!(seen.out, "what systemd says\n");
        (seen.code, seen.err)
    };
    assert_eq!(status(0), (0, String::new()));
    for not_running in [3, 4] {
        assert_eq!(status(not_running), (1, String::new()));
    }
    let failed = "chorus: systemctl failed (exit status: 1); see its message above\n";
    assert_eq!(status(1), (1, failed.to_owned()));
}

/// In a mount namespace where a package has brought the unit, and nobody has written one.
#[test]
fn the_unit_of_a_package_goes_with_the_package() {
    let home = tempfile::tempdir().unwrap();
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-ec"])
            .arg(format!(
                "for folder in /etc/systemd/system /usr/lib/systemd/system; do mount -t tmpfs tmpfs $folder; done\n{script}"
            ))
            .env("HOME", home.path())
            .current_dir(home.path());
        command
    };
    let can = inside("true").output();
    if !can.is_ok_and(|can| can.status.success()) {
        not_run(&Missing::Machine(
            "this takes mount namespaces and systemd's folders",
        ));
        return;
    }
    let program = env!("CARGO_BIN_EXE_chorus");
    let nothing = seen(&mut inside(&format!("{program} service uninstall")));
    assert_eq!(nothing.code, 1, "{}", nothing.out);
    assert!(
        nothing.err.contains("nothing is installed"),
        "{}",
        nothing.err
    );
    let packaged = "/usr/lib/systemd/system/chorus.service";
    let refused = seen(&mut inside(&format!(
        "touch {packaged}; {program} service uninstall && exit 9; code=$?; test -e {packaged}; exit $code"
    )));
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(
        refused.err.contains("`sudo apt remove chorus`"),
        "{}",
        refused.err
    );
}

/// A machine without a running systemd, such as most containers, is left as it was.
#[test]
fn a_service_that_systemd_does_not_take_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let programs = written_down(home.path());
    let refuses = "#!/bin/sh\necho 'System has not been booted with systemd' >&2\nexit 1\n";
    fs::write(programs.join("systemctl"), refuses).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut run = chorus(home.path(), &["service", "install", "--user"]);
    let installed = seen(run.env("PATH", &path).env_remove("CHORUS_HOME"));
    assert_eq!(installed.code, 1, "{}", installed.out);
    assert!(
        installed.err.contains("has not been booted with systemd"),
        "{}",
        installed.err
    );
    let config = home.path().join(".config");
    assert!(!config.join("systemd/user/chorus.service").exists());
    assert!(!config.join("chorus/credentials").exists());
}

/// Or the service would begin an empty home beside the one that is used.
#[test]
fn a_users_service_works_in_the_home_that_it_was_installed_from() {
    let home = tempfile::tempdir().unwrap();
    let print = |chosen: &str| {
        let mut command = chorus(home.path(), &["service", "install", "--print", "--user"]);
        seen(command.env("CHORUS_HOME", chosen)).out
    };
    for (chosen, line) in [
        ("/srv/agents", "Environment=CHORUS_HOME=/srv/agents\n"),
        (
            "/srv/100% mine",
            "Environment=\"CHORUS_HOME=/srv/100%% mine\"\n",
        ),
        (
            "~/.chorus-agents",
            "Environment=CHORUS_HOME=%h/.chorus-agents\n",
        ),
    ] {
        let unit = print(chosen);
        assert!(unit.contains(line), "{unit}");
    }
}

/// What systemd has to say against a unit; none where it is not there to be asked.
fn faults(whose: &str, unit: &str) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    // Under this name, so that no unit of this machine is meant.
    let path = folder.path().join("chorus-under-test.service");
    fs::write(&path, unit).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no", whose])
        .arg(&path)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output();
    let Ok(verified) = verified else {
        not_run(&Missing::Program("systemd-analyze", "systemd"));
        return None;
    };
    let said = String::from_utf8(verified.stderr).unwrap();
    let named = said
        .lines()
        .filter(|line| line.contains("chorus-under-test"));
    let mut faults: Vec<String> = named.map(str::to_owned).collect();
    if faults.is_empty() && !verified.status.success() {
        faults.push(said);
    }
    Some(faults)
}

#[test]
fn systemd_finds_no_fault_in_the_units() {
    let folder = tempfile::tempdir().unwrap();
    // systemd looks whether the program is there; where the unit says, it is only once somebody installed it.
    let program = folder.path().join("chorus");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_chorus"), &program).unwrap();
    for whose in ["--system", "--user"] {
        let unit = unit(whose).replace(installed(whose), &program.display().to_string());
        let faults = faults(whose, &unit).unwrap_or_default();
        assert_eq!(faults, Vec::<String>::new(), "{whose}");
    }
}

/// This program under another name: `--print` says how a unit would start it from there.
fn printed_from(name: &str) -> (PathBuf, Seen, TempDir) {
    let program = Path::new(env!("CARGO_BIN_EXE_chorus"));
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let moved = home.path().join(name);
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    // A program that is another user's can only be copied.
    if fs::hard_link(program, &moved).is_err() {
        fs::copy(program, &moved).unwrap();
    }
    let mut run = Command::new(&moved);
    let run = run
        .args(["service", "install", "--print", "--user"])
        .env("HOME", home.path());
    (moved, seen(run), home)
}

/// systemd finds the program itself, so what it reads from the unit is the path that was meant.
#[test]
fn a_program_may_lie_in_a_folder_with_any_ordinary_name() {
    for name in ["my apps/chorus", "100%home/chorus", "a b %h $HOME;/cho rus"] {
        let (_, printed, _home) = printed_from(name);
        assert_eq!(printed.code, 0, "{}", printed.err);
        let faults = faults("--user", &printed.out).unwrap_or_default();
        assert_eq!(faults, Vec::<String>::new(), "{name}\n{}", printed.out);
    }
}

#[test]
fn a_path_that_systemd_never_starts_is_refused_with_words() {
    for name in ["it's/chorus", "a\\b/chorus", "two\nlines/chorus"] {
        let (_, printed, _home) = printed_from(name);
        assert_eq!((printed.code, printed.out.as_str()), (1, ""), "{name}");
        assert!(printed.err.contains("put "), "{}", printed.err);
    }
}

#[test]
fn the_machines_service_is_hardly_exposed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chorus.service");
    std::fs::write(&path, unit("--system")).unwrap();
    let analysis = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager"])
        .arg(&path)
        .output();
    let Ok(analysis) = analysis else {
        not_run(&Missing::Program("systemd-analyze", "systemd"));
        return;
    };
    let text = String::from_utf8(analysis.stdout).unwrap();
    let score = text
        .lines()
        .rev()
        .find_map(|line| line.split("chorus.service: ").nth(1))
        .unwrap_or_else(|| panic!("{text}"));
    let score: String = score.chars().filter(char::is_ascii_digit).collect();
    println!("exposure {score} tenths");
    assert!(score.parse::<u32>().unwrap() <= MOST_EXPOSED, "{text}");
}

/// Each of these refuses something that bubblewrap does: system calls, or a new `/proc` in a namespace. Debian 13's bubblewrap needs
/// openat2, which `RestrictSUIDSGID=` refuses; this machine's may not.
#[test]
fn neither_service_takes_from_the_sandbox_what_it_needs() {
    for whose in ["--system", "--user"] {
        let unit = unit(whose);
        for directive in [
            "RestrictSUIDSGID=",
            "RestrictNamespaces=",
            "ProtectKernelTunables=",
            "ProtectKernelLogs=",
            "ProtectHostname=",
            "ProtectProc=",
            "ProcSubset=",
        ] {
            let is_set = unit.lines().any(|line| line.starts_with(directive));
            assert!(!is_set, "{whose}: {directive}");
        }
    }
}
