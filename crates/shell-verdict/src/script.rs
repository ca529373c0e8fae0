//! A parsed command line: the commands it runs, and the parts that cannot be judged.

use std::collections::HashMap;

use super::risk::Risk;
use super::tables::has;
use super::tables::programs::{TAKE_NO_FILES, WRITERS};
use super::tree::Tree;
use super::word::Word;
use super::wrappers::Inner;

use super::{destructive, lexer, options, plain, programs, risk, scan, tree, wrappers};

#[cfg(test)]
mod tests;

/// Longest command that is parsed, in bytes. A longer one is never allowed by a pattern that is not universal.
const MAX_PARSED: usize = 64 * 1024;

/// How many levels of commands within commands are followed.
const MAX_DEPTH: usize = 8;

/// Most commands and texts that are followed in total.
const MAX_LOOKED_AT: usize = 5_000;

/// Most bytes of all [`Script::runs`] of a line.
const MAX_IN_RUNS: usize = 256 * 1024;

/// Most bytes of commands within commands that are read in total: sixteen times the longest line that is parsed.
const MAX_READ: usize = 16 * MAX_PARSED;

/// Most bytes of all [`Script::forms`].
const MAX_IN_FORMS: usize = 4 << 20;

/// Most bytes of words that are combined to guess the values of varying ones.
const MAX_GUESSED: usize = 4 << 20;

/// A parsed command line.
#[derive(Debug)]
pub struct Script {
    raw: String,
    /// The simple commands as written, in order.
    plain: Vec<Simple>,
    /// The texts that every deny is matched against, as `<program> <words>`.
    forms: Vec<String>,
    /// Bytes of `forms`.
    in_forms: usize,
    /// Words of the commands that contain varying words.
    varying: Vec<Vec<Word>>,
    doubt: Option<String>,
    opaque: Option<String>,
    destructive: Option<String>,
}

/// A simple command as written.
#[derive(Debug)]
pub struct Simple {
    text: String,
    /// Its byte offset in the line.
    at: usize,
    /// Its words, the program first.
    words: Vec<Word>,
}

impl Simple {
    /// Returns its text, as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns its words, the program first.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns the parts of its text that no wildcard may match.
    pub fn risks(&self) -> Vec<Risk> {
        risk::of(&self.text, &self.words)
    }

    /// Returns the plain forms of it, such as `gh pr create` for `/usr/bin/gh -R a/b "pr" create`.
    pub fn forms(&self) -> Vec<String> {
        plain::forms(&self.words)
    }

    /// Returns whether its operands are files.
    pub fn takes_files(&self) -> bool {
        let name = self
            .words
            .first()
            .map_or("", |word| plain::name(word.value()));
        options::is_harmless(name) && !has(TAKE_NO_FILES, name)
    }

    /// Returns its words without the program.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl Script {
    /// Parses a line. A line that is too long or too deep is kept whole, with the reason in [`Self::hides`].
    pub fn parse(command: &str) -> Self {
        let mut script = Self {
            raw: command.to_owned(),
            plain: Vec::new(),
            forms: Vec::new(),
            in_forms: 0,
            varying: Vec::new(),
            doubt: scan::doubt(command),
            opaque: None,
            destructive: None,
        };
        if command.contains('\0') {
            script.mark_opaque("it holds a zero byte");
        }
        if command.len() > MAX_PARSED {
            let reason = format!(
                "only {MAX_PARSED} bytes of a command are taken apart and it has {}",
                command.len()
            );
            script.doubt.get_or_insert_with(|| reason.clone());
            script.mark_opaque(&reason);
            return script;
        }
        let tree = tree::parse(command);
        if let Some(reason) = &tree.doubt {
            script.doubt.get_or_insert_with(|| reason.clone());
        }
        if script.doubt.is_none() && !second_reader_agrees(command, &tree) {
            script.doubt = Some("two readers of it do not agree".to_owned());
        }
        if let Some(reason) = risk::of_all(&tree.commands) {
            script.doubt.get_or_insert(reason);
        }
        script.plain = tree
            .commands
            .iter()
            .map(|command| Simple {
                text: command.text.clone(),
                at: command.at,
                words: command.words.clone(),
            })
            .collect();
        script.follow(tree, scan::other_readings(command));
        script
    }

    /// Follows the commands that these commands run, through wrappers and through texts that contain commands.
    fn follow(&mut self, tree: Tree, other_readings: Vec<String>) {
        let mut texts: Vec<(String, usize)> =
            other_readings.into_iter().map(|text| (text, 1)).collect();
        let mut first = Some(tree);
        let mut looked_at = 0;
        let mut read = HashMap::new();
        let mut left = MAX_READ;
        loop {
            let (tree, depth) = match first.take() {
                Some(tree) => (tree, 0),
                None => match texts.pop() {
                    // Already read, and followed at least as deep.
                    Some((text, depth)) if read.get(&text).is_some_and(|known| *known <= depth) => {
                        continue;
                    }
                    Some((text, _)) if text.len() > left => {
                        return self.mark_opaque("it holds too much text of commands");
                    }
                    Some((text, depth)) => {
                        left -= text.len();
                        let tree = tree::parse(&text);
                        read.insert(text, depth);
                        (tree, depth)
                    }
                    None => return,
                },
            };
            if let Some(reason) = &tree.opaque {
                self.mark_opaque(reason);
            }
            if self.destructive.is_none() {
                self.destructive = destructive::in_tree(&tree);
            }
            for text in &tree.evaluated {
                if depth < MAX_DEPTH {
                    texts.push((text.clone(), depth + 1))
                } else {
                    self.mark_opaque("it nests commands too deep")
                }
            }
            if depth < MAX_DEPTH {
                // Inner commands are not followed: the text is not allowed anyway.
                let overlooked = tree.overlooked.iter();
                texts.extend(overlooked.map(|text| (text.clone(), MAX_DEPTH)));
            }
            if runs_what_it_wrote(&tree) {
                self.mark_opaque("it runs a file that it writes itself");
            }
            looked_at += self.add(wrappers::of_variables(&tree.assigned), depth, &mut texts);
            for command in &tree.commands {
                looked_at += 1;
                self.keep_form(command.text.clone());
                self.keep(&command.words);
                looked_at += self.add(wrappers::inner(command), depth, &mut texts);
                if looked_at > MAX_LOOKED_AT {
                    return self.mark_opaque("it holds too many commands");
                }
                if self.in_forms > MAX_IN_FORMS {
                    return self.mark_opaque("what it runs is too long to look through");
                }
            }
        }
    }

    /// Adds the commands that are run in turn, and texts of commands to read later; returns how much that is.
    fn add(&mut self, run: Vec<Inner>, depth: usize, texts: &mut Vec<(String, usize)>) -> usize {
        let count = run.len();
        for inner in run {
            match inner {
                Inner::Words(words) => self.keep(&words),
                Inner::Script(text) if depth < MAX_DEPTH => texts.push((text, depth + 1)),
                Inner::Script(_) => self.mark_opaque("it nests commands too deep"),
                Inner::Unseen(reason) => self.mark_opaque(&reason),
            }
        }
        count
    }

    fn keep_form(&mut self, form: String) {
        self.in_forms += form.len();
        if self.in_forms <= MAX_IN_FORMS {
            self.forms.push(form)
        }
    }

    fn keep(&mut self, words: &[Word]) {
        if self.in_forms <= MAX_IN_FORMS {
            plain::forms(words)
                .into_iter()
                .for_each(|form| self.keep_form(form));
        }
        if self.destructive.is_none() {
            self.destructive = destructive::of_words(words);
        }
        if words.iter().any(|word| word.varies) {
            self.varying.push(words.to_vec());
        }
    }

    fn mark_opaque(&mut self, reason: &str) {
        self.opaque.get_or_insert_with(|| reason.to_owned());
    }

    /// Returns why it must never run, if it would ruin the machine.
    pub fn destructive(&self) -> Option<&str> {
        self.destructive.as_deref()
    }

    /// Returns why no narrow pattern may allow it, if so.
    pub fn doubt(&self) -> Option<String> {
        self.doubt.clone()
    }

    /// Returns why it may run something that is not in `forms`, if so.
    pub fn hides(&self) -> Option<&str> {
        self.opaque.as_deref()
    }

    /// Returns the simple commands as written.
    pub fn commands(&self) -> &[Simple] {
        &self.plain
    }

    /// Returns the whole line, and each sequence of two or more of its commands with the text that joins them, as
    /// written. `None` if these are too much text.
    pub fn runs(&self) -> Option<Vec<&str>> {
        let mut runs = vec![self.raw.as_str()];
        let mut bytes = 0;
        for (index, first) in self.plain.iter().enumerate() {
            for last in self.plain.iter().skip(index + 1) {
                let run = self.raw.get(first.at..last.at + last.text.len())?;
                bytes += run.len();
                if bytes > MAX_IN_RUNS {
                    return None;
                }
                runs.push(run);
            }
        }
        Some(runs)
    }

    /// Returns whether it is one command and its redirections, with nothing before or after.
    pub fn is_single(&self) -> bool {
        let [command] = self.plain.as_slice() else {
            return false;
        };
        let rest = self.raw.replacen(&command.text, "", 1);
        self.opaque.is_none() && !rest.contains([';', '&', '|', '\n', '(', ')', '{', '}', '`'])
    }

    /// Returns the texts that a deny is matched against: each command as written, its plain forms, and the commands it
    /// runs in turn.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().map(String::as_str)
    }

    /// Returns the forms of the commands when their varying words take the values of `tokens`; `None` if that is too
    /// much to try.
    pub fn guesses(&self, tokens: &[&str]) -> Option<Vec<String>> {
        let mut guesses = Vec::new();
        let mut left = MAX_GUESSED;
        for words in &self.varying {
            let bytes: usize = words.iter().map(|word| word.value.len() + 1).sum();
            let varying = words.iter().filter(|word| word.varies).count();
            for token in tokens {
                // Each varying word by itself, and all of them.
                left = left.checked_sub((bytes + token.len()) * (1 + varying))?;
                let mut filled = words.clone();
                for word in filled.iter_mut().filter(|word| word.varies) {
                    *word = Word::fixed(*token);
                }
                guesses.extend(plain::forms(&filled));
                for index in (0..words.len()).filter(|index| words[*index].varies) {
                    let mut filled = words.clone();
                    filled[index] = Word::fixed(*token);
                    guesses.extend(plain::forms(&filled));
                }
            }
        }
        Some(guesses)
    }
}

fn second_reader_agrees(command: &str, tree: &Tree) -> bool {
    let mut text = command.to_owned();
    for place in tree.harmless.iter().rev() {
        text.replace_range(place.clone(), " ");
    }
    let Some(read) = lexer::read(&text) else {
        return false;
    };
    let parsed: Vec<Vec<&str>> = tree
        .commands
        .iter()
        .map(|command| {
            command
                .words
                .iter()
                .map(|word| word.value.as_str())
                .collect()
        })
        .collect();
    read == parsed
}

/// Returns whether it writes a file that it also runs.
fn runs_what_it_wrote(tree: &Tree) -> bool {
    let mut written: Vec<&str> = tree
        .targets
        .iter()
        .map(|target| plain::name(&target.value))
        .collect();
    let changes_path = tree.assigned.iter().any(|(name, _)| name == "PATH");
    for command in &tree.commands {
        let Some((program, arguments)) = command.words.split_first() else {
            continue;
        };
        let name = plain::name(&program.value);
        let runs: Option<&str> = match () {
            () if programs::is_shell(name)
                || programs::is_source(name)
                || programs::code_options(name).is_some() =>
            {
                arguments
                    .iter()
                    .find(|word| !word.is_option())
                    .map(|word| plain::name(&word.value))
            }
            () if program.value.contains('/') || changes_path => Some(name),
            () => None,
        };
        if runs.is_some_and(|file| written.contains(&file)) {
            return true;
        }
        if has(WRITERS, name) {
            written.extend(arguments.iter().map(|word| plain::name(&word.value)));
        }
    }
    false
}
