//! Lets a model answer a question about a kept output, page by page, so that an output that would fill a window is not
//! read into one.

use std::io::{self, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::ToolContext;
use super::error::ToolError;
use super::ports::Reader;

/// Most pages of one output that are read.
const MOST_PAGES: u64 = 8;

/// Fewest bytes of a page, even for a small window.
const LEAST_PAGE: u64 = 4_000;

/// Bytes shown of the beginning and of the end if there is no answer.
const END: u64 = 2_000;

/// Most characters of a question.
const QUESTION_MAX: usize = 4_000;

/// Returns a model's answer to `question` about the output in `file`, or its beginning and end and why there is no
/// answer.
pub(super) async fn answer(
    file: &Path,
    question: &str,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let chars = question.chars().count();
    if question.trim().is_empty() || chars > QUESTION_MAX {
        return Err(ToolError::Rejected(format!(
            "`ask` takes a question of 1 to {QUESTION_MAX} characters, not {chars}"
        )));
    }
    let Some(reader) = &context.reader else {
        return Err(ToolError::rejected(
            "no model reads outputs here; leave `ask` out and read it in pages",
        ));
    };
    let mut output = Output::open(file, reader).await.map_err(not_read)?;
    let mut answers = Vec::new();
    let mut why_not: Option<String> = None;
    while why_not.is_none()
        && (answers.len() as u64) < MOST_PAGES
        && let Some(page) = output.next_page().await.map_err(not_read)?
    {
        let page = context.services.redactor.redact(&page);
        match reader.answer(question, &page, &context.stop).await {
            Ok(answer) => answers.push(answer),
            Err(error) => why_not = Some(error.to_string()),
        }
    }
    match (answers.is_empty(), why_not) {
        (true, why) => {
            let ends = output.ends().await.map_err(not_read)?;
            let why = why.unwrap_or_else(|| "it is empty".to_owned());
            Ok(format!(
                "There is no answer ({why}). The two ends of the output:\n\n{ends}"
            ))
        }
        (false, why) => Ok(told(&answers, output.pages(answers.len()), why.as_deref())),
    }
}

/// Returns why nothing is shown of a kept output.
pub(super) fn not_read(error: io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::NotFound => {
            ToolError::rejected("that output is no longer kept; run the call again")
        }
        _ => ToolError::failed(error),
    }
}

/// Returns the answers of the pages, and the unread parts.
fn told(answers: &[String], pages: u64, why_not: Option<&str>) -> String {
    if let ([answer], 1) = (answers, pages) {
        return answer.clone();
    }
    let numbered = answers.iter().zip(1..);
    let mut parts: Vec<String> = numbered
        .map(|(answer, number)| format!("[part {number} of {pages}]\n{answer}"))
        .collect();
    let read = answers.len();
    match why_not {
        Some(why) => parts.push(format!("[only {read} of {pages} parts were read: {why}]")),
        None if (read as u64) < pages => parts.push(format!(
            "[only {read} of {pages} parts were read; look through the rest with `grep`]"
        )),
        None => {}
    }
    parts.join("\n\n")
}

/// A kept output, read from its beginning.
struct Output {
    file: File,
    size: u64,
    page: u64,
    /// Bytes of the pages that were read.
    told: u64,
    /// Bytes that were read but belong to the next page.
    rest: Vec<u8>,
}

impl Output {
    async fn open(file: &Path, reader: &Arc<dyn Reader>) -> io::Result<Self> {
        let file = File::open(file).await?;
        let size = file.metadata().await?.len();
        Ok(Self {
            file,
            size,
            page: (reader.page() as u64).max(LEAST_PAGE),
            told: 0,
            rest: Vec::new(),
        })
    }

    /// Returns how many pages it has after `read` of them were read; the remaining ones are assumed to be full.
    fn pages(&self, read: usize) -> u64 {
        let left = self.size.saturating_sub(self.told);
        read as u64 + left.div_ceil(self.page)
    }

    /// Returns the next page: whole lines, except for lines that are nearly as long as a page.
    async fn next_page(&mut self) -> io::Result<Option<String>> {
        let wanted = self.page.saturating_sub(self.rest.len() as u64);
        let mut file = (&mut self.file).take(wanted);
        file.read_to_end(&mut self.rest).await?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let is_last = (self.rest.len() as u64) < self.page;
        let line_end = self.rest.iter().rposition(|byte| *byte == b'\n');
        let end = match line_end {
            Some(at) if !is_last && at > self.rest.len() / 2 => at + 1,
            Some(_) | None => self.rest.len(),
        };
        self.told += end as u64;
        let page: Vec<u8> = self.rest.drain(..end).collect();
        Ok(Some(String::from_utf8_lossy(&page).into_owned()))
    }

    /// Returns its beginning and its end; all of it if it is no longer than that.
    async fn ends(&mut self) -> io::Result<String> {
        let part = async |file: &mut File, from: u64| {
            file.seek(SeekFrom::Start(from)).await?;
            let mut bytes = Vec::new();
            file.take(END).read_to_end(&mut bytes).await?;
            io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let head = part(&mut self.file, 0).await?;
        let tail = part(&mut self.file, END.max(self.size.saturating_sub(END))).await?;
        let left_out = self.size.saturating_sub(2 * END);
        Ok(match left_out {
            0 => format!("{head}{tail}"),
            bytes => format!(
                "{head}\n\n[… {bytes} bytes left out; read them with `offset` or `grep` …]\n\n{tail}"
            ),
        })
    }
}
