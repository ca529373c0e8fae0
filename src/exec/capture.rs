//! Keeps the output of a command: head and tail in memory, and all of it in a file if these are not enough.

use std::collections::VecDeque;
use std::path::PathBuf;

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::command::Output;

/// Most bytes of the beginning that are kept. Together with [`TAIL`] this is below the 50,000 characters of a tool
/// result.
const HEAD: usize = 16 * 1024;

/// Most bytes of the end that are kept: errors come last.
const TAIL: usize = 30 * 1024;

/// Most bytes that go to the file; more are counted and dropped.
const SPOOL: u64 = 256 << 20;

/// Receives output and keeps a bounded part of it in memory.
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
    spool: Spool,
}

/// Where all of the output goes once it does not fit.
enum Spool {
    None,
    /// Not needed so far.
    Unopened(PathBuf),
    /// In use.
    Open {
        path: PathBuf,
        file: File,
        written: u64,
        lost: u64,
    },
}

impl Capture {
    /// Creates it; when the output no longer fits, all of it goes to `spool`.
    pub(super) fn new(spool: Option<PathBuf>) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            omitted: 0,
            spool: spool.map_or(Spool::None, Spool::Unopened),
        }
    }

    pub(super) async fn push(&mut self, bytes: &[u8]) {
        self.spool_before(bytes).await;
        let to_head = bytes.len().min(HEAD - self.head.len());
        let (head, rest) = bytes.split_at(to_head);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        if let Some(excess) = self.tail.len().checked_sub(TAIL) {
            self.tail.drain(..excess);
            self.omitted += excess as u64;
        }
    }

    pub(super) async fn finish(mut self) -> Output {
        let (whole, lost) = match self.spool {
            Spool::Open {
                path,
                mut file,
                lost,
                ..
            } => match file.flush().await {
                Ok(()) => (Some(path), lost),
                Err(_) => (None, self.omitted),
            },
            Spool::None | Spool::Unopened(_) => (None, self.omitted),
        };
        let mut tail = Vec::from(self.tail);
        if self.omitted == 0 {
            self.head.append(&mut tail);
        }
        Output {
            head: self.head,
            tail,
            omitted: self.omitted,
            whole,
            lost,
        }
    }

    /// Sends `bytes` to the file, which is opened when memory is about to drop something.
    async fn spool_before(&mut self, bytes: &[u8]) {
        let held = self.head.len() + self.tail.len();
        if let Spool::Unopened(path) = &self.spool {
            if held + bytes.len() <= HEAD + TAIL {
                return;
            }
            self.spool = match open_with(path, &self.head, &self.tail).await {
                Ok(file) => Spool::Open {
                    path: path.clone(),
                    file,
                    written: held as u64,
                    lost: 0,
                },
                // There is no disk to keep it on: only head and tail remain.
                Err(_) => Spool::None,
            };
        }
        if let Spool::Open {
            file,
            written,
            lost,
            ..
        } = &mut self.spool
        {
            let room = usize::try_from(SPOOL - *written).unwrap_or(usize::MAX);
            let fits = &bytes[..bytes.len().min(room)];
            let kept = match file.write_all(fits).await {
                Ok(()) => fits.len(),
                Err(_) => 0,
            };
            *written += kept as u64;
            *lost += (bytes.len() - kept) as u64;
        }
    }
}

async fn open_with(path: &PathBuf, head: &[u8], tail: &VecDeque<u8>) -> std::io::Result<File> {
    let mut file = File::create(path).await?;
    file.write_all(head).await?;
    let (front, back) = tail.as_slices();
    file.write_all(front).await?;
    file.write_all(back).await?;
    Ok(file)
}
