//! `grep`: finds lines by a regular expression.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::glob::Pattern;
use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::files::{self, Denied};
use crate::tools::work::{self, Work};
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::workspace::jail::Kind;
use crate::workspace::walk::{self, Step, Walked};
use crate::workspace::{Jail, Workspace, WorkspacePath};

/// Most lines that are shown, including context.
const MOST_LINES: usize = 400;

/// Most characters of a line that are shown.
const LONGEST_LINE: usize = 300;

/// Largest file that is searched, in bytes.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Longest line that is searched, in bytes; it is kept whole in memory.
const LONGEST_SEARCHED: usize = 16 * 1024 * 1024;

/// Processor time after which no further file is searched: partial results are better than an error.
const TIME: Duration = Duration::from_secs(work::TEXT.seconds * 8 / 10);

/// Files between two checks of the time.
const BETWEEN_LOOKS: usize = 64;

/// Most bytes of a compiled pattern, and of the states that are kept during the search.
const PATTERN_SIZE: usize = 10 * 1024 * 1024;

pub(super) struct Grep;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Regular expression; `(?i)` ignores case.
    pattern: String,
    /// Folder or file to search.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Only files like `*.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    /// Lines around each match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 20))]
    context: Option<usize>,
}

#[async_trait]
impl Tool for Grep {
    type Args = Args;

    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Find lines in files; heeds .gitignore.";
    const GROUP: Group = Group::Files;

    fn action(args: &Args) -> Action {
        Action::new(
            Self::NAME,
            files::normal(args.path.as_deref().unwrap_or(".")),
        )
    }

    fn path_argument(args: &Args) -> Option<PathArgument> {
        args.path.as_deref().map(PathArgument::file)
    }

    fn put_path(args: &mut Args, reached: &WorkspacePath) {
        args.path = Some(reached.to_string());
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let search = Search {
            folder: context.services.folder(context),
            denied: Denied::of(context, Self::NAME),
            args,
        };
        let found = context.by_worker(&search, &[]).await?;
        Ok(found.into())
    }
}

/// A search in an agent's workspace.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Search {
    /// The agent's folder.
    folder: PathBuf,
    denied: Denied,
    args: Args,
}

impl Work for Search {
    const NAME: &'static str = "grep";
    const LIMITS: WorkLimits = work::TEXT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let mut found = Found::new(&self.args)?;
        let only = match &self.args.glob {
            Some(glob) => Some(Pattern::new("glob", glob)?),
            None => None,
        };
        let path = WorkspacePath::parse(self.args.path.as_deref().unwrap_or("."))?;
        let workspace = Workspace::open(&self.folder).map_err(ToolError::failed)?;
        let jail = workspace.files()?;
        if jail.kind(&path)? == Kind::File {
            found.file(&jail, &path);
            return Ok(found.report(&path, Walked::Whole));
        }
        let skipped = self.denied.compile(Self::NAME)?;
        let folder = jail.folder(&path)?;
        let walked = walk::files(&folder, &path, &|below| skipped.has(below), &mut |file| {
            if only.as_ref().is_none_or(|only| only.matches(&path, file)) {
                found.file(&jail, file);
            }
            if found.is_full() || found.is_out_of_time() {
                Step::Enough
            } else {
                Step::On
            }
        });
        let mut report = found.report(&path, walked);
        if let Some(note) = skipped.note() {
            report.push('\n');
            report.push_str(note);
        }
        Ok(report)
    }
}

/// The search, and the lines found so far.
struct Found {
    pattern: String,
    matcher: RegexMatcher,
    searcher: Searcher,
    lines: Vec<String>,
    /// Files that were searched.
    files: usize,
}

impl Found {
    fn new(args: &Args) -> Result<Self, ToolError> {
        let matcher = RegexMatcherBuilder::new()
            .line_terminator(Some(b'\n'))
            .size_limit(PATTERN_SIZE)
            .dfa_size_limit(PATTERN_SIZE)
            .build(&args.pattern)
            .map_err(|error| ToolError::Rejected(format!("`pattern` cannot be used: {error}")))?;
        let around = args.context.unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(around)
            .after_context(around)
            .line_number(true)
            .heap_limit(Some(LONGEST_SEARCHED))
            .build();
        Ok(Self {
            pattern: args.pattern.clone(),
            matcher,
            searcher,
            lines: Vec::new(),
            files: 0,
        })
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MOST_LINES
    }

    /// Returns whether the search took so long that it ends here.
    fn is_out_of_time(&mut self) -> bool {
        self.files += 1;
        let used = || clock_gettime(ClockId::ProcessCPUTime);
        self.files.is_multiple_of(BETWEEN_LOOKS)
            && Duration::try_from(used()).is_ok_and(|used| used >= TIME)
    }

    /// Searches one file; one that cannot be read is skipped.
    fn file(&mut self, jail: &Jail, path: &WorkspacePath) {
        let Ok((file, size)) = jail.open_file(path) else {
            return;
        };
        if size > LARGEST_FILE {
            return;
        }
        let mut sink = Lines {
            path: path.as_str(),
            lines: &mut self.lines,
        };
        // Results up to here are kept; an error in the rest of a file is not worth reporting.
        let _ = self.searcher.search_file(&self.matcher, &file, &mut sink);
    }

    fn report(mut self, path: &WorkspacePath, walked: Walked) -> String {
        if self.lines.is_empty() && walked == Walked::Partly {
            return format!(
                "No line in the first {} files below `{path}` matches `{}`; narrow the folder or the glob to search the others.",
                self.files, self.pattern
            );
        }
        if self.lines.is_empty() {
            return format!("No line below `{path}` matches `{}`.", self.pattern);
        }
        if walked == Walked::Partly || self.is_full() {
            self.lines.truncate(MOST_LINES);
            self.lines
                .push("[there may be more; narrow the pattern, the folder or the glob]".into());
        }
        self.lines.join("\n")
    }
}

/// Collects the lines of one file, as `path:12:match` and `path-13-context`.
struct Lines<'a> {
    path: &'a str,
    lines: &'a mut Vec<String>,
}

impl Lines<'_> {
    fn push(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) -> bool {
        let end = bytes
            .iter()
            .rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        let bytes = &bytes[..end.map_or(0, |last| last + 1)];
        // A character has four bytes at most, and one that is cut is not shown.
        let head = &bytes[..bytes.len().min(4 * (LONGEST_LINE + 1))];
        let text = String::from_utf8_lossy(head);
        let mut shown: String = text.chars().take(LONGEST_LINE).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        let number = number.unwrap_or_default();
        self.lines
            .push(format!("{}{mark}{number}{mark}{shown}", self.path));
        self.lines.len() < MOST_LINES
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(self.push(':', found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.push('-', found.line_number(), found.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.lines.push("--".into());
        Ok(true)
    }
}
