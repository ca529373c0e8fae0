//! A terminal of its own with a command in it, and a person who reads and types.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Longest wait before a step says what it waited for in vain.
const PATIENCE: Duration = Duration::from_secs(90);

/// `script`, which every Debian has, makes it.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    /// All that was shown.
    shown: String,
    /// How far it was read.
    read: usize,
}

impl Terminal {
    /// Starts `command` in `home`, with these variables alone.
    pub(crate) fn open(command: &str, home: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new("script")
            .args([
                "--quiet",
                "--return",
                "--flush",
                "--command",
                command,
                "/dev/null",
            ])
            .env_clear()
            .env("HOME", home)
            .envs(variables.iter().copied())
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            keys: child.stdin.take().unwrap(),
            screen: child.stdout.take().unwrap(),
            child,
            shown: String::new(),
            read: 0,
        }
    }

    /// Waits until this is shown, behind what was waited for before.
    pub(crate) async fn sees(&mut self, words: &str) {
        let looked = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(at) = self.shown[self.read..].find(words) {
                    self.read += at + words.len();
                    return true;
                }
                if !self.reads().await {
                    return false;
                }
            }
        });
        let found = looked.await.unwrap_or(false);
        assert!(found, "never shown: {words}\n{}", self.shown);
    }

    /// Takes in what is shown next; false at the end.
    async fn reads(&mut self) -> bool {
        let mut piece = [0; 4096];
        // The end of a terminal may be an error.
        let count = self.screen.read(&mut piece).await.unwrap_or(0);
        self.shown
            .push_str(&String::from_utf8_lossy(&piece[..count]));
        count > 0
    }

    pub(crate) async fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).await.unwrap();
        self.keys.flush().await.unwrap();
    }

    /// Answers the question whose end is `question`.
    pub(crate) async fn answers(&mut self, question: &str, answer: &str) {
        self.sees(question).await;
        self.types(&format!("{answer}\n")).await;
    }

    /// Chooses what is offered by these words.
    pub(crate) async fn chooses(&mut self, words: &str) {
        self.sees(words).await;
        let line = self.shown[..self.read].lines().last().unwrap();
        let number = line.split_whitespace().next().unwrap().to_owned();
        self.answers("Number [1]: ", &number).await;
    }

    /// Its exit code, and all that it showed.
    pub(crate) async fn ends(mut self) -> (i32, String) {
        while self.reads().await {}
        let status = self.child.wait().await.unwrap();
        (status.code().unwrap(), self.shown)
    }
}
