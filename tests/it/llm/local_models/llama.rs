//! llama.cpp's own server, with a model that `tests/llama/model.py` writes.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::not_run::python;

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
        let script = |name: &str| {
            let mut python = python("llama", "gguf, numpy, xllamacpp")?;
            python.arg(format!("{}/tests/llama/{name}", env!("CARGO_MANIFEST_DIR")));
            let mut command = Command::from(python);
            command.kill_on_drop(true);
            Some(command)
        };
        let folder = TempDir::new().unwrap();
        let model = folder.path().join("parrot.gguf");
        let written = script("model.py")?.arg(&model).status().await;
        assert!(written.unwrap().success(), "model.py failed");
        let mut server = script("serve.py")?;
        server.stderr(Stdio::null());
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
