//! Speaks to a git server through the system's `ssh`, with the operator's agent and known hosts.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::error::ServerError;
use super::push::Request;
use super::remote::Remote;
use super::wire;

/// Most bytes of an advertisement or a report that are read.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Our variables that ssh needs; none of them is secret.
const KEPT: [&str; 4] = ["HOME", "PATH", "SSH_AUTH_SOCK", "USER"];

/// A running `git-receive-pack` on the other machine. Dropping it ends ssh.
pub(super) struct Session {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Session {
    pub(super) fn start(ssh: &Path, remote: &Remote) -> Result<Self, ServerError> {
        let (target, port) = remote.ssh_target();
        let mut command = Command::new(ssh);
        command.env_clear();
        for name in KEPT {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.args(["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]);
        command.args(["-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes"]);
        if let Some(port) = port {
            command.args(["-p", port]);
        }
        // Nothing in target or path can be an option or leave the quotes; see Remote::is_plain.
        command.args([
            "--",
            &target,
            &format!("git-receive-pack '{}'", remote.path),
        ]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(ServerError::SshStart)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(to), Some(from)) => Ok(Self { child, to, from }),
            _ => Err(ServerError::SshPipes),
        }
    }

    /// Returns the server's references: packets up to the first flush.
    pub(super) async fn advertisement(&mut self) -> Result<Vec<u8>, ServerError> {
        let ended = |_| ServerError::SshEnded;
        let mut bytes = Vec::new();
        while bytes.len() < LONGEST_ANSWER {
            let mut head = [0; 4];
            self.from.read_exact(&mut head).await.map_err(ended)?;
            bytes.extend_from_slice(&head);
            let length = wire::length(&head).ok_or(ServerError::NotGits)?;
            if length < 4 {
                return Ok(bytes);
            }
            let start = bytes.len();
            bytes.resize(start + length - 4, 0);
            self.from
                .read_exact(&mut bytes[start..])
                .await
                .map_err(ended)?;
        }
        Err(ServerError::Endless)
    }

    /// Sends command and pack, and returns the report.
    pub(super) async fn receive_pack(mut self, request: Request) -> Result<Vec<u8>, ServerError> {
        self.to
            .write_all(&request.command)
            .await
            .map_err(ServerError::LineBroke)?;
        let mut pack = tokio::fs::File::from_std(request.pack);
        tokio::io::copy(&mut pack, &mut self.to)
            .await
            .map_err(ServerError::LineBroke)?;
        drop(self.to);
        let mut report = Vec::new();
        self.from
            .take(LONGEST_ANSWER as u64)
            .read_to_end(&mut report)
            .await
            .map_err(ServerError::LineBroke)?;
        self.child.wait().await.map_err(ServerError::LineBroke)?;
        Ok(report)
    }

    /// Ends the session without sending anything.
    pub(super) async fn leave(mut self) {
        // A server that is already gone does not need it.
        let _ = self.to.write_all(wire::FLUSH).await;
        drop(self.to);
        let _ = self.child.wait().await;
    }
}
