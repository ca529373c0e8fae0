//! What systemd is told: its end of the socket is the test's.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::UnixDatagram;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::program;
use crate::world::run_test_with;

/// Longest wait for a word of the daemon.
const PATIENCE: Duration = Duration::from_secs(90);

/// The service manager's end of the socket.
pub(super) struct Systemd {
    folder: TempDir,
    heard: UnboundedReceiver<String>,
}

impl Systemd {
    /// Listens from now on, and reads at once what is sent, as systemd does.
    pub(super) fn listen() -> Self {
        let folder = TempDir::new().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let (said, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            while let Ok(length) = socket.recv(&mut buffer).await {
                let words = String::from_utf8_lossy(&buffer[..length]).into_owned();
                if said.send(words).is_err() {
                    break;
                }
            }
        });
        Self { folder, heard }
    }

    /// What the daemon finds in its environment.
    pub(super) fn variable(&self) -> (&'static str, String) {
        let path = self.folder.path().join("notify");
        ("NOTIFY_SOCKET", path.to_str().unwrap().to_owned())
    }

    /// Waits for a notification with this line, and gives it whole.
    pub(super) async fn hears(&mut self, line: &str) -> String {
        let waiting = async {
            loop {
                let words = self.heard.recv().await.unwrap();
                if words.lines().any(|said| said == line) {
                    return words;
                }
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("systemd was never told {line}"))
    }

    /// Everything that came and was not looked at.
    pub(super) fn unread(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.heard.try_recv().ok()).collect()
    }
}

#[tokio::test]
async fn readiness_reloads_and_the_end_are_told() {
    let mut systemd = Systemd::listen();
    run_test_with(program(vec![systemd.variable()]), async |world| {
        let ready = systemd.hears("READY=1").await;
        assert!(ready.contains("STATUS=waiting for Discord"), "{ready}");
        systemd.hears("STATUS=connected to Discord").await;
        assert!(world.discord.is_connected());

        std::fs::write(world.home().join("config.json"), json!({}).to_string()).unwrap();
        world.signals(Signal::HUP).await;
        let begun = systemd.hears("RELOADING=1").await;
        assert!(begun.contains("MONOTONIC_USEC="), "{begun}");
        let done = systemd.hears("READY=1").await;
        assert!(done.contains("STATUS=config.json was reloaded"), "{done}");

        world.stops().await;
        systemd.hears("STOPPING=1").await;
    })
    .await;
}
