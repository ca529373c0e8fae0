//! An error is a type: no function of the program hands on a bare text where something failed.

use std::fs;

use super::{code_of, sources};

/// Texts that say what went wrong and nothing else: whoever gets one can only show it.
const TEXTS: [&str; 5] = ["String", "str", "Cow", "Box<str>", "Arc<str>"];

#[test]
fn no_error_is_a_bare_text() {
    let mut wrong = Vec::new();
    for path in sources() {
        let code = code_of(&fs::read_to_string(&path).unwrap());
        for found in bare_texts(&code) {
            wrong.push(format!("{}: {found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_check_sees_texts_aliases_and_conversions() {
    let code = "fn a() -> Result<Vec<(u8, u8)>, String>; fn b() -> io::Result<String>; type Reason = String;\n\
        fn f() -> Result<u8, Reason>;\
        fn c(f: impl Fn(&str) -> Result<u8, Cow<'static, str>>); fn d() -> Result<String, Error>;\n\
        x.map_err(|why| why.to_string())?; x.map_err(|why| Error::Setup(why.to_string()))?; fn e() -> Result<u8, &'static str>";
    assert_eq!(
        bare_texts(code),
        [
            "Result<Vec<(u8, u8)>, String>",
            "Result<u8, Reason>",
            "Result<u8, Cow<'static, str>>",
            "Result<u8, &'static str>",
            "map_err(|why| why.to_string())",
        ]
    );
}

/// Errors in `code` that are texts: in the type of a result, behind an alias of the same file, or made out of another error.
fn bare_texts(code: &str) -> Vec<String> {
    let aliases = code.match_indices("type ").filter_map(|(at, word)| {
        let (alias, _) = code[at + word.len()..].split_once(';')?;
        let (name, meant) = alias.split_once(" = ")?;
        is_text(meant, &[]).then_some(name)
    });
    let aliases: Vec<&str> = aliases.collect();
    let results = code.match_indices("Result<").filter_map(|(at, name)| {
        let arguments = within(&code[at + name.len()..]);
        is_text(last_argument(arguments)?, &aliases).then(|| format!("Result<{arguments}>"))
    });
    let conversions = code.match_indices("map_err(|").filter_map(|(at, _)| {
        let (call, _) = code[at..].split_once("to_string())")?;
        let (error, made) = call.strip_prefix("map_err(|")?.split_once('|')?;
        (made.trim().strip_suffix('.') == Some(error)).then(|| format!("{call}to_string())"))
    });
    results.chain(conversions).collect()
}

fn is_text(name: &str, aliases: &[&str]) -> bool {
    let name = name.trim_start_matches('&').trim_start_matches("'static ");
    let is = |text: &&str| {
        name.strip_prefix(text)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('<'))
    };
    TEXTS.iter().any(is) || aliases.contains(&name)
}

/// What stands before the `>` that closes an open `<`.
fn within(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            '>' if depth == 0 => return &text[..at],
            '>' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// The last of several arguments; with one there is no error named here.
fn last_argument(arguments: &str) -> Option<&str> {
    let mut depth = 0;
    let mut last = None;
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 && !arguments[at + 1..].trim().is_empty() => last = Some(at + 1),
            _ => {}
        }
    }
    Some(arguments[last?..].trim().trim_end_matches(',').trim())
}
