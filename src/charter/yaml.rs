//! YAML with the line of each value, bounded: no aliases, anchors or tags, no key twice, 16 levels, 4,000 values.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::problem::Problems;
use crate::text;

const DEEPEST: usize = 16;
const MOST: usize = 4_000;

const TOO_DEEP: &str = "more than 16 levels";

/// A value and the line it begins on, counted from 1 in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Yaml,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Yaml {
    /// A scalar; a plain one may be a number, a switch or nothing.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// Why a text is not read.
#[derive(Debug, PartialEq)]
pub(super) enum NotRead {
    /// It is not valid YAML: it may be read line by line.
    Syntax { line: usize },
    /// It is valid, but contains something that no charter may contain.
    Refused(Problems),
}

/// Reads `written`, whose first line is line `first` of its file. An empty one is an empty map.
pub(super) fn parse(written: &str, first: usize) -> Result<Node, NotRead> {
    let mut reader = Reader {
        open: Vec::new(),
        whole: None,
        values: 0,
        first,
    };
    for event in Parser::new_from_str(written) {
        match event {
            Ok((event, span)) => reader.take(event, span)?,
            Err(error) => {
                let line = error.marker().line() + first - 1;
                // The scanner reads brackets ahead, and gives up before we see them.
                if error.info().contains("recursion limit") {
                    return Err(refused(line, TOO_DEEP));
                }
                return Err(NotRead::Syntax { line });
            }
        }
    }
    Ok(reader.whole.unwrap_or(Node {
        line: first,
        value: Yaml::Map(Vec::new()),
    }))
}

/// A list or a map that is not yet closed.
enum Open {
    List(usize, Vec<Node>),
    Map(usize, Vec<(Node, Node)>, Option<Node>),
}

struct Reader {
    open: Vec<Open>,
    whole: Option<Node>,
    values: usize,
    first: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), NotRead> {
        let line = span.start.line() + self.first - 1;
        match event {
            Event::Alias(_) => Err(refused(line, "an alias (`*name`)")),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor > 0 =>
            {
                Err(refused(line, "an anchor (`&name`)"))
            }
            Event::Scalar(.., Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => Err(refused(line, "a tag (`!name`)")),
            Event::Scalar(text, style, ..) => self.close(Node {
                line,
                value: Yaml::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                },
            }),
            Event::SequenceStart(..) => self.begin(line, Open::List(line, Vec::new())),
            Event::MappingStart(..) => self.begin(line, Open::Map(line, Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(line, items)) => self.close(Node {
                    line,
                    value: Yaml::List(items),
                }),
                Some(Open::Map(line, entries, _)) => self.close(Node {
                    line,
                    value: Yaml::Map(entries),
                }),
                None => Err(NotRead::Syntax { line }),
            },
            // A second document does not belong to front matter.
            Event::DocumentStart(_) if self.whole.is_some() => Err(NotRead::Syntax { line }),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, open: Open) -> Result<(), NotRead> {
        if self.open.len() == DEEPEST {
            return Err(refused(line, TOO_DEEP));
        }
        self.open.push(open);
        Ok(())
    }

    /// Adds a complete value to the list or map around it.
    fn close(&mut self, node: Node) -> Result<(), NotRead> {
        self.values += 1;
        if self.values > MOST {
            return Err(refused(node.line, "more than 4,000 values"));
        }
        match self.open.last_mut() {
            None => self.whole = Some(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, waiting)) => match waiting.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    if let Some((earlier, _)) =
                        entries.iter().find(|(key, _)| key.value == node.value)
                    {
                        let name = node.text().unwrap_or_default();
                        let name = text::code_span(&text::one_line(&text::visible(name).0, 60));
                        let what = format!("the key {name} twice, first on line {}", earlier.line);
                        return Err(refused(node.line, &what));
                    }
                    *waiting = Some(node);
                }
            },
        }
        Ok(())
    }
}

fn refused(line: usize, what: &str) -> NotRead {
    NotRead::Refused(Problems::one(
        line,
        format!("the front matter holds {what}"),
        "write it out plainly",
    ))
}
