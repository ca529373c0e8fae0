//! Reads a log as it grows, line by line, with only a bounded part of it in memory.

use std::collections::VecDeque;
use std::io::SeekFrom;
use std::path::PathBuf;

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

/// Most lines of a task that are kept in memory.
const TAIL_LINES: usize = 100;

/// Most bytes of a line that are kept; the rest of it is skipped.
const LINE: usize = 8 * 1024;

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Bytes read from one log before the other one and everything else has its turn.
const SHARE: usize = 4 * 1024 * 1024;

/// The last lines of a task, from both streams.
#[derive(Debug, Default)]
pub struct Tail {
    lines: VecDeque<String>,
}

impl Tail {
    /// Returns the lines, oldest first; those of standard error begin with `err: `.
    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// Returns the last `count` of them.
    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let skipped = self.lines.len().saturating_sub(count);
        self.lines.iter().skip(skipped).cloned().collect()
    }

    pub(super) fn push(&mut self, line: String) {
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

pub(super) struct Follow {
    path: PathBuf,
    offset: u64,
    line: Vec<u8>,
    begun: bool,
}

impl Follow {
    /// Follows the file at `path`, which need not exist yet, from its beginning.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            offset: 0,
            line: Vec::new(),
            begun: false,
        }
    }

    /// Returns the lines that were finished since the last check, and whether there is more to read.
    pub(super) async fn look(&mut self) -> std::io::Result<(Vec<String>, bool)> {
        let mut lines = Vec::new();
        let Ok(mut file) = File::open(&self.path).await else {
            return Ok((lines, false));
        };
        file.seek(SeekFrom::Start(self.offset)).await?;
        let mut chunk = vec![0; CHUNK];
        let mut taken = 0;
        while taken < SHARE {
            let count = file.read(&mut chunk).await?;
            if count == 0 {
                return Ok((lines, false));
            }
            taken += count;
            self.offset += count as u64;
            self.take(&chunk[..count], &mut lines);
        }
        Ok((lines, true))
    }

    /// Returns the text after the last line end, once the log is complete.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.begun.then(|| self.finish())
    }

    fn take(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            let room = LINE - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            self.begun |= !part.is_empty();
            if parts.peek().is_some() {
                lines.push(self.finish());
            }
        }
    }

    fn finish(&mut self) -> String {
        self.begun = false;
        let line = String::from_utf8_lossy(&self.line)
            .trim_end_matches('\r')
            .to_owned();
        self.line.clear();
        line
    }
}
