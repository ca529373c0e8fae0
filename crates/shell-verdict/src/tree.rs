//! Takes a command apart with the parser for bash.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser};

use super::scan;
use super::substitution::Places;
use super::word::Word;

/// Steps the parser may take before a command counts as too tangled: deeply nested errors take quadratic time.
const MAX_STEPS: usize = 20_000;

/// Most simple commands in one text.
const MAX_COMMANDS: usize = 2_000;

/// Most overlooked substitutions that are read separately: one is enough to keep a text from being allowed.
const MAX_OVERLOOKED: usize = 4;

/// Signs that a line treats values as names, numbers or prompts: `((x))`, `[[ $x -eq 1 ]]`, `${!x}`, `${x@P}`.
const EVALUATING: [&str; 20] = [
    "${",
    "((",
    "[[",
    "$[",
    "]=",
    "]+=",
    "let ",
    "declare ",
    "typeset ",
    "local ",
    "readonly ",
    "export ",
    "read ",
    "unset ",
    "test ",
    "[ ",
    "printf -v",
    "mapfile ",
    "readarray ",
    "PS4",
];

/// The commands that a text runs, as far as its tree shows.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Every simple command, at any depth.
    pub(super) commands: Vec<Written>,
    /// Its first part that is more than a plain command.
    pub(super) doubt: Option<String>,
    /// Why it may contain commands that are not in `commands`.
    pub(super) opaque: Option<String>,
    /// Files that it writes to.
    pub(super) targets: Vec<Word>,
    /// Redirections in the text that are harmless.
    pub(super) harmless: Vec<Range<usize>>,
    /// Functions that it defines, by name and body.
    pub(super) functions: Vec<(String, String)>,
    /// Quoted texts in which bash runs `$(…)`: the names in `[ -v 'a[$(id)]' ]` and `declare`.
    pub(super) evaluated: Vec<String>,
    /// Values assigned to variables, before a program's name and elsewhere.
    pub(super) assigned: Vec<(String, Word)>,
    /// Quoted texts with a substitution in them, which bash runs when it treats them as a name, a number or a prompt.
    pub(super) literals: Vec<String>,
    /// Substitutions that the parser took for text, the first few.
    pub(super) overlooked: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) text: String,
    /// Its byte offset in the whole text.
    pub(super) at: usize,
    /// Its words, the program first, without assignments and redirections.
    pub(super) words: Vec<Word>,
    pub(super) input: Input,
}

/// The standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Nothing,
    Text(String),
    /// A file, or input that is known only at run time.
    Unknown,
}

pub(super) fn parse(text: &str) -> Tree {
    let mut tree = Tree::default();
    if scan::is_tangled(text) {
        tree.give_up("it is too tangled to be taken apart");
        return tree;
    }
    let Some(bytes) = scan::for_parser(text) else {
        tree.give_up("it has characters behind a brace that the parser cannot read");
        return tree;
    };
    let mut parser = Parser::new();
    if parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .is_err()
    {
        tree.give_up("the parser is not of this version");
        return tree;
    }
    let steps = Cell::new(0_usize);
    let mut progress = |_: &tree_sitter::ParseState| {
        steps.set(steps.get() + 1);
        if steps.get() > MAX_STEPS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    let Some(parsed) = parser.parse_with_options(&mut read, None, Some(options)) else {
        tree.give_up("it is too tangled to be taken apart");
        return tree;
    };
    if parsed.root_node().has_error() {
        tree.give_up("it does not parse as shell");
    }
    tree.walk(parsed.root_node(), text);
    tree
}

impl Tree {
    fn give_up(&mut self, reason: &str) {
        self.doubt(reason);
        self.mark_opaque(reason);
    }

    fn doubt(&mut self, reason: &str) {
        self.doubt.get_or_insert_with(|| reason.to_owned());
    }

    fn mark_opaque(&mut self, reason: &str) {
        self.opaque.get_or_insert_with(|| reason.to_owned());
    }

    /// Visits every node, each with the input of its commands. The waiting nodes are in a list, not on the call stack.
    fn walk(&mut self, root: Node<'_>, text: &str) {
        let mut waiting = vec![(root, Input::Nothing)];
        let mut places = Places::default();
        while let Some((node, input)) = waiting.pop() {
            places.note(node, text);
            if let Some(reason) = unjudged(node) {
                self.doubt(reason);
            }
            match node.kind() {
                "raw_string" | "ansi_c_string" | "string" | "word" | "heredoc_body" => {
                    self.literal(node, text);
                }
                "command" => self.command(node, text, input.clone()),
                "redirected_statement" if node.child_by_field_name("body").is_none() => {
                    self.doubt("it redirects nothing");
                }
                "file_redirect" => self.redirect(node, text),
                "heredoc_redirect" => self.heredoc(node, text),
                "function_definition" => self.function(node, text),
                "variable_assignment" => self.assignment(node, text),
                "test_command" | "declaration_command" | "unset_command" => {
                    self.evaluates(node, text);
                }
                // Inside backticks a backslash is removed before the rest is read.
                "command_substitution"
                    if slice(node, text).starts_with('`') && slice(node, text).contains('\\') =>
                {
                    self.mark_opaque("it quotes inside backticks");
                }
                _ => {}
            }
            let children = children(node);
            let inputs = inputs(node, &children, text, &input);
            // Last first, so that they are visited in order.
            waiting.extend(children.into_iter().zip(inputs).rev());
            if self.commands.len() > MAX_COMMANDS {
                return self.give_up("it holds too many commands");
            }
        }
        let overlooked = places.unseen(text);
        if !overlooked.is_empty() {
            self.give_up("it runs a command where the parser sees only text");
        }
        let texts = overlooked.into_iter().filter_map(|range| text.get(range));
        self.overlooked = texts.take(MAX_OVERLOOKED).map(str::to_owned).collect();
        if EVALUATING.iter().any(|sign| text.contains(sign)) {
            self.evaluated.append(&mut self.literals);
        }
    }

    /// Keeps a text with a substitution that does not run at this place.
    fn literal(&mut self, node: Node<'_>, text: &str) {
        let source = slice(node, text);
        let value = match node.kind() {
            "heredoc_body" => Word::fixed(source),
            _ => Word::read(source, 0..0),
        };
        let runs = |value: &&str| value.contains("$(") || value.contains('`');
        if let Some(value) = value.known().filter(runs) {
            // The output of a substitution there is not a program, but a part of the value.
            self.literals.push(format!(": {value}"));
        }
    }

    fn command(&mut self, node: Node<'_>, text: &str, input: Input) {
        let mut command = Written {
            text: slice(node, text).to_owned(),
            at: node.start_byte(),
            words: Vec::new(),
            input,
        };
        let word = |child: Node<'_>| {
            let place =
                child.start_byte() - node.start_byte()..child.end_byte() - node.start_byte();
            Word::read(slice(child, text), place)
        };
        for child in children(node) {
            match child.kind() {
                "variable_assignment" | "file_redirect" => {}
                "herestring_redirect" => {
                    let here = slice(child, text).trim_start_matches('<').trim();
                    let here = Word::read(here, 0..0);
                    command.input = here
                        .known()
                        .map_or(Input::Unknown, |text| Input::Text(text.to_owned()));
                }
                _ => command.words.push(word(child)),
            }
        }
        for word in &command.words {
            if let Some(odd) = word.rewritten {
                self.doubt(&format!("bash rewrites {odd} in it"));
            }
        }
        self.commands.push(command);
    }

    fn assignment(&mut self, node: Node<'_>, text: &str) {
        let (name, value) = slice(node, text).split_once('=').unwrap_or_default();
        let name = name.split(['+', '[']).next().unwrap_or_default();
        let list = node.child_by_field_name("value");
        let list = list.filter(|value| value.kind() == "array");
        let mut give = |value: &str| {
            let value = Word::read(value, 0..0);
            self.assigned.push((name.to_owned(), value));
        };
        match list {
            Some(list) => {
                let elements = children(list).into_iter().filter(Node::is_named);
                elements.for_each(|element| give(slice(element, text)));
            }
            None => give(value),
        }
    }

    fn evaluates(&mut self, node: Node<'_>, text: &str) {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            let is_leaf = matches!(
                node.kind(),
                "raw_string" | "string" | "word" | "concatenation"
            );
            if is_leaf {
                let word = Word::read(slice(node, text), 0..0);
                if let Some((name, value)) = word.value.split_once('=') {
                    let name = name.split(['+', '[']).next().unwrap_or_default();
                    self.assigned.push((name.to_owned(), Word::fixed(value)));
                }
                let runs = |word: &str| word.contains("$(") || word.contains('`');
                let known = word.known().filter(|word| runs(word));
                self.evaluated.extend(known.map(str::to_owned));
            } else {
                waiting.extend(children(node))
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>, text: &str) {
        let whole = slice(node, text);
        let target = whole.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_harmless = match target.trim_start_matches(['>', '<', '&', '|', ' ']) {
            "/dev/null" => true,
            "1" | "2" => target.starts_with(">&"),
            _ => false,
        };
        if is_harmless {
            self.harmless.push(node.byte_range());
            return;
        }
        self.doubt("it redirects to or from a file");
        let mut destinations = children(node)
            .into_iter()
            .filter(|child| child.is_named() && child.kind() != "file_descriptor");
        let destination = destinations
            .next()
            .map(|first| Word::read(slice(first, text), 0..0));
        let words: Vec<Word> = destinations
            .map(|more| Word::read(slice(more, text), 0..0))
            .collect();
        self.behind_redirect(node, words, text);
        if target.contains('>') || target.starts_with("&>") {
            self.targets.extend(destination);
        }
    }

    /// Adds `words` to their command: the grammar counts them as further files of a redirection.
    fn behind_redirect(&mut self, redirect: Node<'_>, words: Vec<Word>, text: &str) {
        if words.is_empty() {
            return;
        }
        let statement = redirect
            .parent()
            .filter(|parent| parent.kind() == "redirected_statement");
        let body = statement.and_then(|statement| statement.child_by_field_name("body"));
        match (statement, body.filter(|body| body.kind() == "command")) {
            (Some(statement), Some(body)) => {
                self.command(body, text, Input::Unknown);
                if let Some(command) = self.commands.last_mut() {
                    command.words.extend(words);
                    command.text = slice(statement, text).to_owned();
                }
            }
            _ => self.give_up("words stand behind a redirection"),
        }
    }

    fn heredoc(&mut self, node: Node<'_>, text: &str) {
        self.doubt("it holds a here-document");
        let start = children(node)
            .into_iter()
            .find(|child| child.kind() == "heredoc_start");
        let delimiter = start.map(|start| slice(start, text)).unwrap_or_default();
        let bare = delimiter.trim_matches(['\'', '"']);
        if bare.is_empty()
            || !bare
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            self.mark_opaque("a here-document ends in an unusual word");
        }
    }

    fn function(&mut self, node: Node<'_>, text: &str) {
        let name = node
            .child_by_field_name("name")
            .map(|name| slice(name, text));
        let body = node
            .child_by_field_name("body")
            .map(|body| slice(body, text));
        if let (Some(name), Some(body)) = (name, body) {
            self.functions.push((name.to_owned(), body.to_owned()));
        }
    }
}

fn slice<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// Returns the children of `node`, with a cursor: asking for each by its number would take quadratic time.
fn children<'tree>(node: Node<'tree>) -> Vec<Node<'tree>> {
    node.children(&mut node.walk()).collect()
}

/// Returns why a kind of node is not plain. The list names plain kinds, so anything that a later grammar adds is not
/// plain.
fn unjudged(node: Node<'_>) -> Option<&'static str> {
    match node.kind() {
        "program"
        | "list"
        | "pipeline"
        | "command"
        | "command_name"
        | "word"
        | "string"
        | "string_content"
        | "raw_string"
        | "number"
        | "concatenation"
        | "redirected_statement"
        | "file_redirect"
        | "file_descriptor"
        | "&&"
        | "||"
        | ";"
        | "|"
        | "|&"
        | "\n"
        | "\"" => None,
        // Judged together with their redirection.
        ">" | ">>" | "<" | ">&" | "&>" | "&>>" | "<&" | ">|" | ">&-" | "<&-" => None,
        "&" => Some("it runs something in the background"),
        "comment" => Some("it holds a comment"),
        "variable_assignment" | "variable_assignments" => Some("it assigns a variable"),
        "command_substitution" | "process_substitution" => Some("it runs a command inside another"),
        "simple_expansion" | "expansion" | "arithmetic_expansion" => Some("it expands a variable"),
        "subshell" | "compound_statement" | "function_definition" => Some("it groups commands"),
        "heredoc_redirect" | "heredoc_body" | "herestring_redirect" => {
            Some("it holds a here-document")
        }
        _ => Some("it is more than plain commands"),
    }
}

/// Returns the input of the commands under each child of `node`.
fn inputs(node: Node<'_>, children: &[Node<'_>], text: &str, input: &Input) -> Vec<Input> {
    match node.kind() {
        "pipeline" => {
            let mut feeds = input.clone();
            let mut inputs = Vec::with_capacity(children.len());
            for child in children {
                inputs.push(feeds.clone());
                if child.is_named() {
                    feeds = output(*child, text);
                }
            }
            inputs
        }
        "redirected_statement" => {
            let here = children
                .iter()
                .find(|child| child.kind() == "heredoc_redirect");
            let from_file = children.iter().any(|child| {
                child.kind() == "file_redirect"
                    && slice(*child, text)
                        .trim_start_matches(|c: char| c.is_ascii_digit())
                        .starts_with('<')
            });
            let own = match (here, from_file) {
                (Some(here), _) => here_text(*here, text),
                (None, true) => Input::Unknown,
                (None, false) => input.clone(),
            };
            children.iter().map(|_| own.clone()).collect()
        }
        // A pipeline may continue after a here-document's delimiter; its input is its neighbour's output.
        "heredoc_redirect" => children.iter().map(|_| Input::Unknown).collect(),
        "command_substitution" | "process_substitution" => {
            children.iter().map(|_| Input::Nothing).collect()
        }
        _ => children.iter().map(|_| input.clone()).collect(),
    }
}

/// Returns the text of a here-document that bash passes on as written.
fn here_text(node: Node<'_>, text: &str) -> Input {
    let start = children(node)
        .into_iter()
        .find(|child| child.kind() == "heredoc_start");
    let quoted = start.is_some_and(|start| slice(start, text).contains(['\'', '"', '\\']));
    let Some(body) = children(node)
        .into_iter()
        .find(|child| child.kind() == "heredoc_body")
    else {
        return Input::Unknown;
    };
    let body = slice(body, text);
    if quoted || !body.contains(['$', '`', '\\']) {
        Input::Text(body.to_owned())
    } else {
        Input::Unknown
    }
}

/// Returns the output of a stage of a pipeline, if its words determine it.
fn output(node: Node<'_>, text: &str) -> Input {
    if node.kind() != "command" {
        return Input::Unknown;
    }
    let words: Vec<Word> = children(node)
        .into_iter()
        .map(|child| Word::read(slice(child, text), 0..0))
        .collect();
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match known.as_deref() {
        Some(["echo", "-n" | "-e" | "-ne" | "-en", printed @ ..] | ["echo", printed @ ..]) => {
            Input::Text(unescaped(&printed.join(" ")))
        }
        Some(
            ["printf", "%s" | "%s\\n" | "%b" | "%b\\n", printed @ ..] | ["printf", printed @ ..],
        ) => Input::Text(unescaped(&printed.join(" "))),
        _ => Input::Unknown,
    }
}

/// Returns `text` with the escapes replaced that `echo -e` and `printf` read.
fn unescaped(text: &str) -> String {
    Word::read(&format!("$'{}'", text.replace('\'', "\\'")), 0..0).value
}
