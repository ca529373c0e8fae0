//! llama.cpp's own server, with a model that `tests/llama/model.py` writes.

use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub(super) struct Llama {
    url: String,
    _server: Child,
    _folder: TempDir,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tools {
    Taken,
    Refused,
}

impl Llama {
    /// The server with a window of so many tokens; none where it is not installed.
    pub(super) async fn start(window: u32, tools: Tools) -> Option<Self> {
        let place = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/llama"));
        let packages = place.join("packages");
        let command = |script: &str| {
            let mut command = Command::new("python3");
            command
                .arg(place.join(script))
                .env("PYTHONPATH", &packages)
                .stderr(Stdio::null())
                .kill_on_drop(true);
            command
        };
        let folder = TempDir::new().unwrap();
        let model = folder.path().join("parrot.gguf");
        let written = command("model.py").arg(&model).status().await;
        if !written.is_ok_and(|status| status.success()) {
            println!(
                "not run: llama.cpp is missing (python3 -m pip install --target tests/llama/packages -r tests/llama/requirements.txt)"
            );
            return None;
        }
        let mut server = command("serve.py");
        server.arg(&model).arg(window.to_string());
        if tools == Tools::Refused {
            server.arg("no-tools");
        }
        let mut server = server
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("no address");
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Some(Self {
            url,
            _server: server,
            _folder: folder,
        })
    }

    pub(super) fn base_url(&self) -> String {
        format!("{}/v1", self.url)
    }
}
