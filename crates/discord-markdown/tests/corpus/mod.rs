//! Generates answers as models write them, from pieces with numbered words, so that a test knows each word and its
//! position.
//!
//! A piece has `{w}` for a word of prose and `{c}` for a word of code. It has `{t}` for a word that may be shown as
//! either (a cell of a table, the title of a fence), and `{n}` for a number that is only a label.

mod answers;
mod pieces;

/// A text and its words in order.
pub(crate) struct Sample {
    pub(crate) text: String,
    pub(crate) words: Vec<Word>,
}

/// A word that occurs once in its text.
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// How a word is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Prose,
    Code,
    Either,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Code => "code",
            Self::Either => "either",
        }
    }
}

/// Returns the same `count` texts each time.
pub(crate) fn samples(count: usize) -> Vec<Sample> {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let alone = pieces::BLOCKS
        .iter()
        .chain(&pieces::LAST)
        .chain(&answers::ANSWERS);
    let mut samples: Vec<Sample> = alone.map(|piece| numbered(piece, &mut dice)).collect();
    while samples.len() < count {
        let pattern = pattern(&mut dice);
        samples.push(numbered(&pattern, &mut dice));
    }
    samples
}

/// Returns a few blocks, some of them quoted or in a list.
fn pattern(dice: &mut Dice) -> String {
    let mut blocks = Vec::new();
    for _ in 0..dice.below(5) + 1 {
        let block = match dice.below(3) {
            0 => paragraph(dice),
            1 => dice.one_of(&answers::ANSWERS).to_owned(),
            _ => dice.one_of(&pieces::BLOCKS).to_owned(),
        };
        blocks.push(match dice.below(6) {
            // HTML and tabs mean something else there.
            0..3 if block.contains(['<', '\t']) => block,
            0 => prefixed(&block, "> ", "> "),
            1 => prefixed(&block, "- ", "  "),
            2 => prefixed(&block, "1. ", "   "),
            _ => block,
        });
    }
    if dice.below(4) == 0 {
        blocks.push(dice.one_of(&pieces::LAST).to_owned());
    }
    blocks.join("\n\n")
}

/// Returns sentences over some lines.
fn paragraph(dice: &mut Dice) -> String {
    let mut text = String::from("{w}");
    for _ in 0..dice.below(8) + 1 {
        text.push(if dice.below(4) == 0 { '\n' } else { ' ' });
        let piece = dice.one_of(&pieces::INLINE);
        text.push_str(piece);
    }
    text
}

fn prefixed(block: &str, first: &str, further: &str) -> String {
    let lines = block.lines().enumerate();
    let lines = lines.map(|(number, line)| match (number, line) {
        (0, line) => format!("{first}{line}"),
        (_, "") => further.trim_end().to_owned(),
        (_, line) => format!("{further}{line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Fills each place of `pattern` with a word.
fn numbered(pattern: &str, dice: &mut Dice) -> Sample {
    const WORDS: [&str; 8] = [
        "disk", "build", "naive", "server", "token", "path", "x", "result",
    ];
    let (mut text, mut words) = (String::new(), Vec::new());
    let mut rest = pattern;
    while let Some((before, behind)) = rest.split_once('{') {
        text.push_str(before);
        let kind = match behind.split_once('}').map(|(name, _)| name) {
            Some("w") => Some(Kind::Prose),
            Some("c") => Some(Kind::Code),
            Some("t") => Some(Kind::Either),
            Some("n") => None,
            _ => {
                text.push('{');
                rest = behind;
                continue;
            }
        };
        rest = &behind[2..];
        match kind {
            Some(kind) => {
                let word = format!("{}{}q", dice.one_of(&WORDS), words.len());
                text.push_str(&word);
                words.push(Word { text: word, kind });
            }
            None => text.push_str(&(words.len() % 90 + 1).to_string()),
        }
    }
    text.push_str(rest);
    Sample { text, words }
}

/// Numbers that look random (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[usize::try_from(self.below(all.len() as u64)).unwrap_or_default()]
    }
}
