//! `read_task_output`: returns the output of a task.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::TaskId;
use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::hooks::pattern;
use crate::tools::tasks::outcome;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

/// Default number of lines: those that are in memory anyway.
const DEFAULT_LINES: usize = 100;

/// Most lines for one call.
const MOST_LINES: usize = 5_000;

/// Most bytes of a line that are shown and searched.
const LINE: u64 = 4_000;

/// Most bytes of the lines of one log that are returned; a longer log is cut at the beginning.
const MOST_BYTES: usize = 400_000;

pub(super) struct ReadTaskOutput;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Such as `task_001`.
    id: String,
    /// Last lines (100).
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<u64>,
    /// Only lines matching this regex.
    #[serde(skip_serializing_if = "Option::is_none")]
    grep: Option<String>,
}

#[async_trait]
impl Tool for ReadTaskOutput {
    type Args = Args;

    const NAME: &'static str = "read_task_output";
    const DESCRIPTION: &'static str = "Read what a task printed, running or ended.";
    const GROUP: Group = Group::Information;
    const COMMAND: Option<&'static str> = Some("/process logs");

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.id)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let shell = context.services.shell()?;
        let id = TaskId(args.id);
        let row = shell.tasks.row(context.agent, &id).await?;
        let lines = usize::try_from(args.tail.unwrap_or(DEFAULT_LINES as u64))
            .unwrap_or(MOST_LINES)
            .clamp(1, MOST_LINES);
        let live = shell.tasks.tail(context.agent, &id);
        let printed = match live {
            Some(tail) if args.grep.is_none() && lines <= DEFAULT_LINES => {
                tail[tail.len().saturating_sub(lines)..].join("\n")
            }
            Some(_) | None => {
                let files = shell.tasks.files(&context.name, &id);
                let logs = Logs {
                    stdout: files.stdout,
                    stderr: files.stderr,
                    lines,
                    grep: args.grep,
                };
                context.by_worker(&logs, &[]).await?
            }
        };
        let printed = if printed.is_empty() {
            "(nothing)"
        } else {
            &printed
        };
        Ok(format!("[{id} {}]\n{printed}\n", outcome(&row)).into())
    }
}

/// The last lines of a task's logs.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Logs {
    stdout: PathBuf,
    stderr: PathBuf,
    lines: usize,
    grep: Option<String>,
}

impl Work for Logs {
    const NAME: &'static str = "read_task_output";
    const LIMITS: WorkLimits = work::TEXT;

    /// Returns the last lines of both logs, one after the other.
    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let wanted = match &self.grep {
            Some(text) => {
                Some(pattern(text).map_err(|why| ToolError::Rejected(format!("grep: {why}")))?)
            }
            None => None,
        };
        let last = |log| last_lines(log, self.lines, wanted.as_ref()).map_err(ToolError::failed);
        let (out, err) = (last(&self.stdout)?, last(&self.stderr)?);
        if err.is_empty() {
            return Ok(out);
        }
        if out.is_empty() {
            return Ok(format!("standard error:\n{err}"));
        }
        Ok(format!("standard output:\n{out}\nstandard error:\n{err}"))
    }
}

fn last_lines(path: &Path, count: usize, wanted: Option<&Regex>) -> io::Result<String> {
    let mut reader = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let mut last: VecDeque<String> = VecDeque::new();
    let mut bytes = 0;
    while let Some(line) = next_line(&mut reader)? {
        if wanted.is_some_and(|pattern| !pattern.is_match(&line)) {
            continue;
        }
        bytes += line.len();
        last.push_back(line);
        while last.len() > count || bytes > MOST_BYTES {
            bytes -= last.pop_front().map_or(0, |first| first.len());
        }
    }
    Ok(Vec::from(last).join("\n"))
}

/// Returns the next line, cut to [`LINE`] bytes; the rest is skipped without being kept.
fn next_line(reader: &mut BufReader<File>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.by_ref().take(LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else {
        reader.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}
