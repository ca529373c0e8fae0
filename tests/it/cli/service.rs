//! The systemd units: what they promise, and how exposed systemd thinks they are.

use std::process::Command;

use super::program::{chorus, seen};

/// Most exposed the service may be by systemd's own measure, in tenths.
const MOST_EXPOSED: u32 = 30;

fn unit(whose: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let seen = seen(&mut chorus(
        home.path(),
        &["service", "install", "--print", whose],
    ));
    assert_eq!(seen.code, 0, "{}", seen.err);
    seen.out
}

#[test]
fn both_units_start_this_program_and_know_its_exit_codes() {
    for whose in ["--system", "--user"] {
        let unit = unit(whose);
        let program = env!("CARGO_BIN_EXE_chorus");
        for line in [
            "Type=notify",
            "Restart=on-failure",
            "RestartPreventExitStatus=78",
            &format!("ExecStart={program} run"),
            &format!("ExecStartPre={program} check-config"),
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
fn the_machines_service_is_hardly_exposed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chorus.service");
    std::fs::write(&path, unit("--system")).unwrap();
    let analysis = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager"])
        .arg(&path)
        .output();
    let Ok(analysis) = analysis else {
        return; // No systemd on this machine.
    };
    let text = String::from_utf8(analysis.stdout).unwrap();
    let score = text
        .lines()
        .rev()
        .find_map(|line| line.split("chorus.service: ").nth(1))
        .unwrap_or_else(|| panic!("{text}"));
    let score: String = score.chars().filter(char::is_ascii_digit).collect();
    assert!(score.parse::<u32>().unwrap() <= MOST_EXPOSED, "{text}");
}
