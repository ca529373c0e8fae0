//! Moves long code blocks of an answer into files, which are easier to read than many messages.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::dialect;
use chorus_text::count;

/// Longest block, in characters, that is shown in messages: three of them.
const SHOWN: usize = 6_000;

/// Longest answer, in bytes, that is searched for blocks: a longer one is a file as a whole, and each sign of Markdown
/// costs the parser a hundred bytes.
const LOOKED_THROUGH: usize = 256 << 10;

/// Most files under one message; Discord takes ten.
const MAX_FILES: usize = 9;

/// A block of code as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFile {
    /// Its name, with the extension of its language.
    pub name: String,
    /// The code, without its fences.
    pub text: String,
}

/// Returns `markdown` with each long block of code replaced by a line that names its file.
pub fn without_long_code(markdown: &str) -> (String, Vec<CodeFile>) {
    let markdown = &*dialect::on_own_lines(markdown);
    let mut blocks = if (SHOWN + 1..=LOOKED_THROUGH).contains(&markdown.len()) {
        long_blocks(markdown)
    } else {
        Vec::new()
    };
    blocks.truncate(MAX_FILES);
    let is_one = blocks.len() == 1;
    let mut words = String::with_capacity(markdown.len());
    let mut files = Vec::new();
    let mut at = 0;
    for block in blocks {
        let number = if is_one {
            String::new()
        } else {
            format!("-{}", files.len() + 1)
        };
        let name = format!("code{number}.{}", extension(&block.language));
        let lines = count(block.text.lines().count(), "line", "lines");
        words.push_str(&markdown[at..block.range.start]);
        words.push_str(&format!(
            "*The code ({lines}) is in the attached file `{name}`.*"
        ));
        let ends_line = markdown[block.range.clone()].ends_with('\n');
        at = block.range.end - usize::from(ends_line);
        files.push(CodeFile {
            name,
            text: block.text,
        });
    }
    words.push_str(&markdown[at..]);
    (words, files)
}

struct LongBlock {
    range: Range<usize>,
    language: String,
    text: String,
}

fn long_blocks(markdown: &str) -> Vec<LongBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<LongBlock> = None;
    for (event, range) in Parser::new_ext(markdown, dialect::options()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if range.len() > SHOWN => {
                let language = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
                open = Some(LongBlock {
                    range,
                    language: language.to_ascii_lowercase(),
                    text: String::new(),
                });
            }
            Event::Text(line) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&line);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                let block = open.take();
                blocks.extend(block.filter(|block| block.text.chars().nth(SHOWN).is_some()));
            }
            _ => {}
        }
    }
    blocks
}

/// Returns the extension of files in a language, as fences name it.
fn extension(language: &str) -> &str {
    match language {
        "assembly" => "asm",
        "bash" | "console" | "shell" | "shell-session" | "zsh" => "sh",
        "c++" => "cpp",
        "c#" | "csharp" => "cs",
        "clojure" => "clj",
        "elixir" => "ex",
        "erlang" => "erl",
        "fortran" => "f90",
        "f#" | "fsharp" => "fs",
        "golang" => "go",
        "haskell" => "hs",
        "javascript" | "node" => "js",
        "julia" => "jl",
        "kotlin" => "kt",
        "latex" => "tex",
        "makefile" | "make" => "mk",
        "markdown" => "md",
        "objective-c" | "objectivec" => "m",
        "ocaml" => "ml",
        "perl" => "pl",
        "powershell" => "ps1",
        "protobuf" => "proto",
        "python" | "python3" => "py",
        "ruby" => "rb",
        "rust" => "rs",
        "terraform" => "tf",
        "typescript" => "ts",
        "yaml" => "yml",
        other => {
            let is_extension =
                (1..=10).contains(&other.len()) && other.bytes().all(|b| b.is_ascii_alphanumeric());
            let is_plain = ["text", "plain", "plaintext", "none"].contains(&other);
            if is_extension && !is_plain {
                other
            } else {
                "txt"
            }
        }
    }
}
