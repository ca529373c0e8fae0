//! Code: spans and fenced blocks of CommonMark, in Discord's form.
//!
//! Discord knows only fences of three backticks, anywhere in a line, and the next three end the block, no matter what
//! precedes them. So a fence of tildes or of more backticks becomes one of three; a line of code that contains three
//! backticks is written as a span between two blocks; unclosed code is closed. Text after the opening fence, apart from
//! the name of a language, is shown above the code or as its first line.

use std::ops::Range;

use super::lines::prefix_of;
use crate::code::{self, FENCE, run_length};
use crate::escape;

/// Returns a span with a shorter mark if its own is too long for Discord.
pub(super) fn span(raw: &str, inside: &str) -> Option<String> {
    (run_length(raw) >= FENCE.len()).then(|| spanned(inside))
}

/// Returns `inside` as a span, or as several if it contains both of the marks that Discord knows.
fn spanned(inside: &str) -> String {
    let runs = || inside.split(|c| c != '`').map(str::len);
    let has_run = |length: usize| runs().any(|run| run == length);
    match (has_run(1), has_run(2)) {
        (_, false) => format!("`` {inside} ``"),
        (false, true) => format!("` {inside} `"),
        (true, true) => {
            let mut spans = String::new();
            let mut rest = inside;
            while let Some(at) = rest.find('`') {
                push_span(&mut spans, &rest[..at]);
                let run = run_length(&rest[at..]);
                spans.push_str(&r"\`".repeat(run));
                rest = &rest[at + run..];
            }
            push_span(&mut spans, rest);
            spans
        }
    }
}

fn push_span(spans: &mut String, code: &str) {
    if code.trim().is_empty() {
        spans.push_str(code);
    } else {
        spans.push_str(&format!("`{code}`"));
    }
}

/// A fenced block of CommonMark.
pub(super) struct Block<'a> {
    /// The prefix of each of its lines: marks of the quote and blanks of the list around it.
    prefix: String,
    mark: &'a str,
    info: Info<'a>,
    /// Its lines between the fences, with their prefixes.
    lines: Vec<&'a str>,
    /// The fence that ends it, with its prefix.
    closing: Option<&'a str>,
    ends_line: bool,
}

impl<'a> Block<'a> {
    pub(super) fn of(text: &'a str, range: Range<usize>) -> Self {
        let prefix = prefix_of(text, range.start);
        let raw = &text[range];
        let first = raw.chars().next().unwrap_or('`');
        let mark = &raw[..raw
            .bytes()
            .take_while(|byte| char::from(*byte) == first)
            .count()];
        let mut lines: Vec<&str> = raw.lines().skip(1).collect();
        let is_end = |line: &&str| {
            let marks = bare(line).trim_end();
            marks.len() >= mark.len() && marks.chars().all(|c| c == first)
        };
        let closing = lines.last().copied().filter(is_end);
        if closing.is_some() {
            lines.pop();
        }
        let typed = raw.lines().next().unwrap_or_default()[mark.len()..].trim();
        let info = if lines.iter().all(|line| bare(line).is_empty()) {
            Info::code(typed)
        } else {
            Info::of(typed)
        };
        Self {
            prefix,
            mark,
            info,
            lines,
            closing,
            ends_line: raw.ends_with('\n'),
        }
    }

    /// Returns the block as Discord reads it; `None` when no change is needed.
    pub(super) fn written(&self) -> Option<String> {
        let is_blank = self.lines.iter().all(|line| bare(line).is_empty());
        if is_blank && self.closing.is_none() {
            let typed = format!(
                "{}{}",
                escape_backticks(self.mark),
                escape::text(self.info.raw)
            );
            return Some(self.ended(typed));
        }
        if !is_blank && self.is_as_discord_reads() {
            return None;
        }
        let mut out = Vec::new();
        if !self.info.title.is_empty() {
            out.push(format!("{}{}", self.prefix, escape::text(self.info.title)));
        }
        let first = format!("{}{}", self.prefix, self.info.code);
        let mut lines = self.lines.clone();
        if !bare(&first).is_empty() {
            lines.insert(0, &first);
        }
        self.push_parts(&mut out, &lines);
        let written = out.join("\n");
        // The text already has the first line's prefix.
        let written = written.strip_prefix(&self.prefix).map(str::to_owned);
        Some(self.ended(written.unwrap_or_else(|| out.join("\n"))))
    }

    fn is_as_discord_reads(&self) -> bool {
        let closing = self.closing.map(|line| bare(line).trim_end());
        self.mark == FENCE
            && closing == Some(FENCE)
            && self.info.language == self.info.raw
            && !self
                .lines
                .iter()
                .any(|line| code::holds_fence(line) || self.line(line) != *line)
    }

    /// Returns a line of code. An empty one would end the list or the quote around the block.
    fn line(&self, line: &str) -> String {
        if bare(line).is_empty() && !self.prefix.is_empty() {
            self.prefix.clone()
        } else {
            line.to_owned()
        }
    }

    fn ended(&self, mut written: String) -> String {
        if self.ends_line {
            written.push('\n');
        }
        written
    }

    /// Adds the lines in blocks, and those that contain a fence as spans between them.
    fn push_parts(&self, out: &mut Vec<String>, lines: &[&str]) {
        let count = out.len();
        let mut part: Vec<&str> = Vec::new();
        for line in lines {
            if code::holds_fence(line) {
                if !part.is_empty() {
                    self.push_part(out, &part);
                    part.clear();
                }
                let body = bare(line);
                let before = &line[..line.len() - body.len()];
                out.push(format!("{before}{}", spanned(body)));
            } else {
                part.push(line);
            }
        }
        if out.len() == count || !part.is_empty() {
            self.push_part(out, &part);
        }
    }

    fn push_part(&self, out: &mut Vec<String>, lines: &[&str]) {
        let is_blank = lines.iter().all(|line| bare(line).is_empty());
        if is_blank && !out.is_empty() {
            return;
        }
        out.push(format!("{}{FENCE}{}", self.prefix, self.info.language));
        if is_blank {
            out.push(format!("{} ", self.prefix))
        } else {
            out.extend(lines.iter().map(|line| self.line(line)))
        }
        out.push(format!("{}{FENCE}", self.prefix));
    }
}

/// The text after the fence that opens a block.
struct Info<'a> {
    /// All of it.
    raw: &'a str,
    /// The name of the language, for Discord's colours.
    language: &'a str,
    /// The text after the name: a file, options.
    title: &'a str,
    /// All of it, if it names no language: the author began the code on the fence's line.
    code: &'a str,
}

impl<'a> Info<'a> {
    fn of(raw: &'a str) -> Self {
        let name = language_word(raw);
        if code::is_language(raw) {
            return Self {
                raw,
                language: raw,
                title: "",
                code: "",
            };
        }
        if !is_known(name) {
            return Self::code(raw);
        }
        Self {
            raw,
            language: name,
            title: raw[name.len()..].trim_start_matches([' ', '\t', ',', ':']),
            code: "",
        }
    }

    /// Creates it for code that begins on the fence's line.
    fn code(raw: &'a str) -> Self {
        Self {
            raw,
            language: "",
            title: "",
            code: raw,
        }
    }
}

/// Returns whether the text after a fence shows that it opens a block of code in a language.
pub(super) fn names_language(info: &str) -> bool {
    let info = info.trim();
    let is_span = info.contains('`');
    !is_span && is_known(language_word(info))
}

fn language_word(info: &str) -> &str {
    let end = info.find([' ', '\t', ',', ':', '{']);
    &info[..end.unwrap_or(info.len())]
}

fn is_known(language: &str) -> bool {
    LANGUAGES.contains(&language.to_ascii_lowercase().as_str())
}

/// Names that models write after a fence. They distinguish a language from the first words of code.
const LANGUAGES: [&str; 132] = [
    "apache",
    "asm",
    "assembly",
    "awk",
    "bash",
    "bat",
    "batch",
    "c",
    "c#",
    "c++",
    "cc",
    "clj",
    "clojure",
    "cmake",
    "cmd",
    "conf",
    "config",
    "console",
    "cpp",
    "cs",
    "csharp",
    "css",
    "csv",
    "cuda",
    "d",
    "dart",
    "diff",
    "docker",
    "dockerfile",
    "dotenv",
    "elixir",
    "elm",
    "env",
    "erlang",
    "ex",
    "f#",
    "fish",
    "fortran",
    "fsharp",
    "go",
    "golang",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "haskell",
    "hcl",
    "hpp",
    "hs",
    "html",
    "http",
    "ini",
    "java",
    "javascript",
    "jinja",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsx",
    "julia",
    "kotlin",
    "kt",
    "latex",
    "less",
    "lisp",
    "log",
    "lua",
    "make",
    "makefile",
    "markdown",
    "md",
    "mermaid",
    "mjs",
    "nginx",
    "nim",
    "nix",
    "objc",
    "objective-c",
    "ocaml",
    "output",
    "pascal",
    "patch",
    "perl",
    "php",
    "plaintext",
    "powershell",
    "prisma",
    "proto",
    "protobuf",
    "ps1",
    "py",
    "python",
    "python3",
    "r",
    "rb",
    "regex",
    "rs",
    "ruby",
    "rust",
    "sass",
    "scala",
    "scheme",
    "scss",
    "sh",
    "shell",
    "solidity",
    "sql",
    "svelte",
    "swift",
    "systemd",
    "tcl",
    "terminal",
    "terraform",
    "text",
    "tex",
    "toml",
    "ts",
    "tsx",
    "txt",
    "typescript",
    "v",
    "vb",
    "vim",
    "vue",
    "wasm",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

/// Returns a line without the marks of quotes and the blanks before it.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>'])
}

fn escape_backticks(mark: &str) -> String {
    if mark.starts_with('`') {
        r"\`".repeat(mark.len())
    } else {
        mark.to_owned()
    }
}
