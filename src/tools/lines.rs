//! Text as numbered lines, and edits of it that keep its line endings. Pure.

/// Lines shown on each side of an edit.
const AROUND: usize = 3;

/// Most lines of an edit that are shown.
const MOST_SHOWN: usize = 60;

/// Most characters of a line that are shown.
pub(super) const LONGEST_LINE: usize = 2_000;

/// How a text ends its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// `\n`.
    Unix,
    /// `\r\n`.
    Windows,
}

impl Ending {
    /// Returns the ending of most lines of `text`.
    pub(super) fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        let windows = text.matches("\r\n").count();
        if windows * 2 > all {
            Self::Windows
        } else {
            Self::Unix
        }
    }

    /// Returns `text` with this ending.
    pub(super) fn apply(self, text: &str) -> String {
        let unix = text.replace("\r\n", "\n");
        match self {
            Self::Unix => unix,
            Self::Windows => unix.replace('\n', "\r\n"),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Unix => "\n",
            Self::Windows => "\r\n",
        }
    }
}

/// Returns how many lines `text` has; a last line without an end counts.
///
/// They are counted and never collected: 32 MiB of line ends would be half a gigabyte of slices.
pub(super) fn count(text: &str) -> usize {
    text.lines().count()
}

/// Returns `1 line`, `2 lines`.
pub(super) fn counted(count: usize) -> String {
    match count {
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    }
}

/// Returns `12\tthe line`, cut if it is very long.
pub(super) fn numbered(number: usize, line: &str) -> String {
    let chars = line.chars().count();
    if chars <= LONGEST_LINE {
        return format!("{number}\t{line}");
    }
    let head: String = line.chars().take(LONGEST_LINE).collect();
    format!("{number}\t{head} [… {chars} characters]")
}

/// Returns the number, from 1, of the line that contains byte `at` of `text`.
pub(super) fn number_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns the lines `first` to `last` of `text`, from 1, and three on each side, numbered.
pub(super) fn around(text: &str, first: usize, last: usize) -> String {
    let from = first.saturating_sub(AROUND + 1);
    let to = (last + AROUND).min(count(text));
    let shown = to.saturating_sub(from);
    let mut out: Vec<String> = text
        .lines()
        .enumerate()
        .skip(from)
        .take(shown.min(MOST_SHOWN))
        .map(|(index, line)| numbered(index + 1, line))
        .collect();
    if shown > MOST_SHOWN {
        out.push(format!("[… to line {to}]"));
    }
    out.join("\n")
}

/// Returns `text` with lines `start` to `end` (from 1) replaced by `content` as whole lines; `end` before `start`
/// inserts.
pub(super) fn splice(text: &str, start: usize, end: usize, content: &str) -> String {
    let ending = Ending::of(text);
    let mut content = ending.apply(content);
    let from = offset_of(text, start);
    let to = offset_of(text, end + 1).max(from);
    let (head, tail) = (&text[..from], &text[to..]);
    let head_is_open = !head.is_empty() && !head.ends_with('\n');
    let joint = if head_is_open && !content.is_empty() {
        ending.as_str()
    } else {
        ""
    };
    // Between lines the content needs a line end; at the end of a text it has one if the last line had one.
    let wants_end =
        !tail.is_empty() || (!head_is_open && (text.is_empty() || text.ends_with('\n')));
    if wants_end && !content.is_empty() && !content.ends_with('\n') {
        content.push_str(ending.as_str());
    }
    format!("{head}{joint}{content}{tail}")
}

/// Returns the byte at which line `number` begins, the text's end for a line after the last.
fn offset_of(text: &str, number: usize) -> usize {
    if number <= 1 {
        return 0;
    }
    text.match_indices('\n')
        .nth(number - 2)
        .map_or(text.len(), |(at, _)| at + 1)
}
