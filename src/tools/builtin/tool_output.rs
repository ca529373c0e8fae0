//! `tool_output`: reads a result that was too long to be given whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use async_trait::async_trait;
use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::output_store::Handle;
use crate::tools::tool::{Output, Tool, ToolContext};

/// Lines of a page nobody asked a size for.
const PAGE: u64 = 400;

/// Bytes after which a line goes on as the next one, so that one endless line can be read in pages too.
const LONGEST_LINE: u64 = 2_000;

/// Bytes of a page, well below the output cap: a page of a cut output is never cut again.
const LONGEST_PAGE: usize = 40_000;

pub(super) struct ToolOutput;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// As named in the cut result.
    handle: String,
    /// First line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// Lines (400).
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Only lines matching this regex.
    #[serde(skip_serializing_if = "Option::is_none")]
    grep: Option<String>,
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

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let handle: Handle = args.handle.parse().map_err(ToolError::Rejected)?;
        let matcher = match &args.grep {
            Some(pattern) => Some(matcher(pattern)?),
            None => None,
        };
        let outputs = context.services.outputs.clone();
        let agent = context.name.clone();
        let page = tokio::task::spawn_blocking(move || {
            let file = outputs.open(&agent, &handle)?;
            page(file, &args, matcher.as_ref())
        });
        match page.await.map_err(ToolError::failed)? {
            Ok(text) => Ok(text.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ToolError::rejected(
                "that output is no longer kept; run the call again",
            )),
            Err(error) => Err(ToolError::failed(error)),
        }
    }
}

fn matcher(pattern: &str) -> Result<RegexMatcher, ToolError> {
    RegexMatcher::new(pattern)
        .map_err(|error| ToolError::Rejected(format!("`grep` is no regular expression: {error}")))
}

fn page(file: File, args: &Args, matcher: Option<&RegexMatcher>) -> io::Result<String> {
    let first = args.offset.unwrap_or(1).max(1);
    let limit = args.limit.unwrap_or(PAGE);
    let mut reader = BufReader::new(file);
    let mut text = String::new();
    let mut number = 0;
    let mut shown = 0;
    while let Some(line) = next_line(&mut reader)? {
        number += 1;
        if number < first || !matches(matcher, &line) {
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
        text = match matcher {
            Some(_) => format!("no line from {first} on matches; there are {number} lines"),
            None => format!("there are only {number} lines"),
        };
    }
    Ok(text)
}

fn matches(matcher: Option<&RegexMatcher>, line: &[u8]) -> bool {
    use grep_matcher::Matcher;
    matcher.is_none_or(|matcher| matcher.is_match(line).unwrap_or(false))
}

/// The next line without its end, or [`LONGEST_LINE`] bytes of it.
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
