//! SIGTERM before the daemon has begun.

use std::io::Write as _;

use rustix::process::Signal;

use super::{command, program};
use crate::world::daemon::{gives, hears, keeps_waiting};
use crate::world::run_test_with;

#[tokio::test]
async fn a_daemon_stopped_while_it_reads_its_configuration_ends_in_order() {
    run_test_with(program(Vec::new()), async |world| {
        let home = tempfile::tempdir().unwrap();
        // It waits for a fifo: as early as a test can meet it.
        let fifo = keeps_waiting(home.path());
        let mut daemon = command(world, &["run"])
            .env("CHORUS_HOME", home.path())
            .spawn()
            .unwrap();
        hears(&mut daemon, Signal::TERM).await;
        gives(&mut daemon, Signal::TERM).await;
        let written = tokio::task::spawn_blocking(move || {
            // Opening returns once the daemon reads.
            let mut config = std::fs::OpenOptions::new().write(true).open(fifo)?;
            config.write_all(b"{}")
        });
        written.await.unwrap().unwrap();
        let status = daemon.wait().await.unwrap();
        assert_eq!(status.code(), Some(0), "{status}");
        assert!(
            !home.path().join("db").exists(),
            "it went on after it was told to stop"
        );
    })
    .await;
}
