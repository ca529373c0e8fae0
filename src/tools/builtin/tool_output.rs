//! `tool_output`: reads a result that was too long to be returned whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::output_reading;
use crate::tools::output_store::{Handle, InvalidHandle};
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

/// Default number of lines of a page.
const PAGE: u64 = 400;

/// Bytes after which a line continues as the next one, so that a very long line can also be read in pages.
const LONGEST_LINE: u64 = 2_000;

/// Most bytes of a page, well below the output cap: a page of a cut output is never cut again.
const LONGEST_PAGE: usize = 40_000;

/// Longest time for finding a page.
const DEADLINE: Duration = Duration::from_secs(60);

pub(super) struct ToolOutput;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    handle: String,
    /// First line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// Lines (400).
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Regex.
    #[serde(skip_serializing_if = "Option::is_none")]
    grep: Option<String>,
    /// Question about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
}

#[async_trait]
impl Tool for ToolOutput {
    type Args = Args;

    const NAME: &'static str = "tool_output";
    const DESCRIPTION: &'static str = "Read a result that was cut for length.";
    const GROUP: Group = Group::Information;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.handle)
    }

    fn asks(args: &Args) -> bool {
        args.ask.is_some()
    }

    /// Returns no deadline for a question: each page that a model reads has a separate timeout, and all end with the
    /// call.
    fn deadline(args: &Args) -> Option<Duration> {
        args.ask.is_none().then_some(DEADLINE)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let handle: Handle = args
            .handle
            .parse()
            .map_err(|error: InvalidHandle| ToolError::rejected(error.to_string()))?;
        let file = context.services.outputs.file(&context.name, &handle);
        if let Some(question) = &args.ask {
            return Ok(output_reading::answer(&file, question, context)
                .await?
                .into());
        }
        let page = Page { file, args };
        let page = context.by_worker(&page, &[]).await?;
        Ok(page.into())
    }
}

/// A page of a kept output.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Page {
    file: PathBuf,
    args: Args,
}

impl Work for Page {
    const NAME: &'static str = "tool_output";
    const LIMITS: WorkLimits = work::TEXT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let pattern =
            match &self.args.grep {
                Some(pattern) => Some(Regex::new(pattern).map_err(|error| {
                    ToolError::Rejected(format!("`grep` cannot be used: {error}"))
                })?),
                None => None,
            };
        let page = File::open(&self.file).and_then(|file| page(file, &self.args, pattern.as_ref()));
        page.map_err(output_reading::not_read)
    }
}

fn page(file: File, args: &Args, pattern: Option<&Regex>) -> io::Result<String> {
    let first = args.offset.unwrap_or(1).max(1);
    let limit = args.limit.unwrap_or(PAGE);
    let mut reader = BufReader::new(file);
    let mut text = String::new();
    let mut number = 0;
    let mut shown = 0;
    while let Some(line) = next_line(&mut reader)? {
        number += 1;
        if number < first || pattern.is_some_and(|pattern| !pattern.is_match(&line)) {
            continue;
        }
        if shown == limit || text.len() > LONGEST_PAGE {
            text.push_str(&format!("[more: offset {number}]\n"));
            return Ok(text);
        }
        shown += 1;
        text.push_str(&format!("{number}\t{}\n", String::from_utf8_lossy(&line)));
    }
    if shown == 0 {
        text = match pattern {
            Some(_) => format!("no line from {first} on matches; there are {number} lines"),
            None => format!("there are only {number} lines"),
        };
    }
    Ok(text)
}

/// Returns the next line without its end, or [`LONGEST_LINE`] bytes of it.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if reader.take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(Some(line))
}
