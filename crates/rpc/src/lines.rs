//! Reads one JSON object a line from a stream that may send anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line in bytes, without its end.
pub const MAX_LINE: usize = 4 << 20;

/// Lines that may be dropped before the connection is given up.
pub const MAX_NOISE: u32 = 1_000;

/// Bytes that are kept between two lines; a longer line's memory is given back.
const KEPT: usize = 64 << 10;

/// Why nothing more comes from a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("it closed its output")]
    Ended,
    #[error("it printed {MAX_NOISE} lines that are no messages")]
    TooNoisy,
    #[error("its output cannot be read: {0}")]
    Io(String),
}

/// A count of the lines and messages that were dropped, shared with the reader's owner.
#[derive(Clone, Debug, Default)]
pub struct Noise(Arc<AtomicU32>);

impl Noise {
    /// The number of dropped lines so far.
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more.
    ///
    /// # Errors
    ///
    /// [`Broken::TooNoisy`] from the thousandth on.
    pub fn add(&self) -> Result<(), Broken> {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before + 1 >= MAX_NOISE {
            return Err(Broken::TooNoisy);
        }
        Ok(())
    }
}

/// Lines of a stream. It holds at most one line and never more than [`MAX_LINE`] bytes of it.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    noise: Noise,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(reader: R, noise: Noise) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            noise,
        }
    }

    /// Returns the next line that begins as a JSON object does. Lines that do not, and lines that are too long, are counted.
    ///
    /// Not cancel-safe: a dropped call may lose a part of a line.
    pub async fn next(&mut self) -> Result<&[u8], Broken> {
        loop {
            let fits = self.read().await?;
            let is_object = self.line.trim_ascii_start().first() == Some(&b'{');
            if fits && is_object {
                return Ok(&self.line);
            }
            self.noise.add()?;
        }
    }

    /// Reads one line into the buffer; false when it was too long and was dropped.
    async fn read(&mut self) -> Result<bool, Broken> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        let mut fits = true;
        loop {
            let read = self.reader.fill_buf().await;
            let chunk = read.map_err(|error| Broken::Io(error.to_string()))?;
            if chunk.is_empty() {
                return Err(Broken::Ended);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            fits &= self.line.len() + part.len() <= MAX_LINE;
            if fits {
                self.line.extend_from_slice(part);
            } else {
                self.line = Vec::new();
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(fits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    async fn all(text: &[u8]) -> (Vec<String>, Broken, u32) {
        let noise = Noise::default();
        let mut lines = Lines::new(text, noise.clone());
        let mut found = Vec::new();
        loop {
            match lines.next().await {
                Ok(line) => found.push(String::from_utf8_lossy(line).into_owned()),
                Err(why) => return (found, why, noise.count()),
            }
        }
    }

    #[tokio::test]
    async fn objects_pass_and_all_else_is_counted() {
        let (found, why, noise) = all(b"hello\n{\"a\":1}\n\n[1]\n  {\"b\":2}\r\n{\"cut").await;
        assert_eq!(found, ["{\"a\":1}", "  {\"b\":2}\r"]);
        assert_eq!((why, noise), (Broken::Ended, 3));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_dropped_and_the_next_is_read() {
        let mut text = vec![b'{'; MAX_LINE + 1];
        text.extend_from_slice(b"\n{}\n");
        let (found, _, noise) = all(&text).await;
        assert_eq!((found, noise), (vec!["{}".to_owned()], 1));
    }

    #[tokio::test]
    async fn a_line_of_the_longest_length_passes() {
        let mut text = vec![b'{'; MAX_LINE];
        text.push(b'\n');
        assert_eq!(all(&text).await.0.len(), 1);
    }

    #[tokio::test]
    async fn a_thousand_lines_of_noise_end_it() {
        let text = "x\n".repeat(1_500);
        assert_eq!(
            all(text.as_bytes()).await,
            (vec![], Broken::TooNoisy, MAX_NOISE)
        );
    }
}
