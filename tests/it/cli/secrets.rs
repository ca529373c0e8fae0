//! Secrets given in the environment are not found in `/proc` afterwards.

use std::io::Read;
use std::process::Stdio;

use super::program::chorus;
use crate::world::daemon::keeps_waiting;

#[test]
fn a_daemon_started_with_a_token_has_none_in_its_environment() {
    // The daemon blocks on a fifo for its configuration: a moment at which its environment can be looked at.
    let home = tempfile::tempdir().unwrap();
    let fifo = keeps_waiting(home.path());
    let mut daemon = chorus(home.path(), &["run"])
        .env("DISCORD_TOKEN", "hunter2")
        .env("CHORUS_ALLOW_ROOT", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Opening for writing returns once the daemon reads.
    let config = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let shown = std::fs::read(format!("/proc/{}/environ", daemon.id()));
    drop(config);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let mut said = String::new();
    daemon
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    // Another user than root may not read it at all.
    if let Ok(shown) = shown {
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains("CHORUS_HOME"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(!said.contains("hunter2"), "{said}");
}
