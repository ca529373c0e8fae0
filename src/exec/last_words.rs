//! The last words that a program printed to its standard error.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::text;

/// Bytes that are kept.
const KEPT: usize = 64 << 10;

/// Characters of one line that are shown.
const LINE: usize = 300;

/// The end of what a program printed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LastWords(Arc<Mutex<VecDeque<u8>>>);

impl LastWords {
    /// Reads until the program closes its standard error.
    pub async fn follow(self, mut errors: pipe::Receiver) {
        let mut chunk = vec![0; 4 << 10];
        while let Ok(count @ 1..) = errors.read(&mut chunk).await {
            let mut kept = self.0.lock();
            kept.extend(&chunk[..count]);
            let surplus = kept.len().saturating_sub(KEPT);
            kept.drain(..surplus);
        }
    }

    /// The last `most` lines that are not blank, in their order, with hidden characters written out.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let bytes: Vec<u8> = self.0.lock().iter().copied().collect();
        let said = String::from_utf8_lossy(&bytes);
        let shown = |line: &str| text::visible(&text::one_line(line, LINE)).0;
        let lines = said
            .lines()
            .rev()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let mut last: Vec<String> = lines.take(most).map(shown).collect();
        last.reverse();
        last
    }
}
