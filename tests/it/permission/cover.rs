//! A pattern covers what it spells, and never what only one of its wildcards takes in.
//!
//! Patterns and actions are made together, so that it is known which part of an action a wildcard took: the wildcard
//! is made for that part, from ranges that hold its letters.

use chorus::permission::{Action, Decision, Profile};
use proptest::prelude::*;
use proptest::sample::select;
use regex::Regex;

/// What a pattern spells, and a word behind it that writes, runs or reaches something else. Of the word, a wildcard
/// may take in what stands behind the bar, but no part of what stands before it.
const DANGERS: &[(&str, &str)] = &[
    ("git log ", "--output|=pwn"),
    ("git log -5 ", "--ext-diff|"),
    ("git grep x ", "--open-files-in-pager|=pwn"),
    ("git diff ", "--no-index| a b"),
    ("git archive HEAD ", "-o| pwn"),
    ("find . ", "-delete|"),
    ("find . -name x ", "-exec| touch pwn"),
    ("find . ", "-fprintf| pwn x"),
    ("sort a ", "-o| pwn"),
    ("sort a ", "--compress-program|=pwn"),
    ("rg x ", "--pre| pwn"),
    ("tar tf a.tar ", "--to-command|=pwn"),
    ("tar cf a.tar b ", "--use-compress-program|=pwn"),
    ("man ls ", "--pager|=pwn"),
    ("curl -s https://docs.rs ", "--output| pwn"),
    ("less a ", "--log-file|=pwn"),
    ("cargo test ", "--config|=pwn"),
    ("make all ", "--eval|=pwn"),
    ("unknown-program ", "--exec|=pwn"),
    ("awk ", "'BEGIN { print > \"pwn\" }'|"),
    ("sed ", "'s/a/b/w pwn'|"),
    ("python3 ", "-c 'import os'|"),
    ("env LANG=C ", "touch pwn|"),
    ("dd if=a ", "of=pwn|"),
    ("uniq a ", "pwn|"),
    ("groff -t a.ms ", "-T|utf8/../../x"),
    ("git rebase ", "--continue|"),
    ("rename ", "s,a,b,e|"),
    ("unknown-program ", "s^a^b^e|"),
    ("wget -q ", "https://docs.rs/%2enpmrc|"),
    ("cp -r a ", ".git/rebase-merge|"),
];

/// Names that a pattern begins, and what a wildcard may make of them.
const NAMES: &[(&str, &str)] = &[
    ("tool:bash:l", "sof"),
    ("tool:bash:git lo", "okup"),
    ("tool:bash:cargo t", "arpaulin"),
    ("tool:bash:curl -s https://docs.rs", ".evil.example"),
    ("tool:bash:curl -s https://docs.rs", ".evil.example/x"),
    ("tool:web_fetch:https://docs.rs", ".evil.example/"),
    ("tool:web_fetch:https://docs", "x.evil.io"),
    ("tool:bash:cat docs/", "a /etc/shadow"),
    ("tool:bash:cat docs/", "a b /etc/shadow"),
    ("tool:bash:rm -r build/", "x ../src"),
];

fn is_allowed(pattern: &str, action: &str) -> bool {
    let profile = Profile::compile(&[pattern], &[".*"], &[]).unwrap();
    let verdict = profile.decide(&Action::parse(action).unwrap(), &[]);
    verdict.decision == Decision::Allow
}

/// The range of `letter`'s row from `below` letters before it to `above` behind it, three of them at least.
fn range(letter: char, below: u8, above: u8) -> String {
    let (first, last) = match letter {
        'a'..='z' => (b'a', b'z'),
        'A'..='Z' => (b'A', b'Z'),
        _ => (b'0', b'9'),
    };
    let letter = letter as u8;
    let mut from = letter.saturating_sub(below).max(first);
    let mut to = letter.saturating_add(above).min(last);
    while to - from < 2 {
        if to < last { to += 1 } else { from -= 1 }
    }
    format!("{}-{}", char::from(from), char::from(to))
}

/// An expression that takes in `text` and spells none of it.
fn wildcard(text: &'static str) -> BoxedStrategy<String> {
    let length = text.chars().count();
    let letters = text.chars().filter(char::is_ascii_alphanumeric).count();
    let ranges = prop::collection::vec((0..6_u8, 0..6_u8), letters);
    let ranged = (ranges, 0..4_usize).prop_map(move |(widths, more)| {
        let mut widths = widths.into_iter();
        let members: String = text
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    let (below, above) = widths.next().unwrap();
                    range(c, below, above)
                } else {
                    format!("\\x{{{:x}}}", u32::from(c))
                }
            })
            .collect();
        let times = match more {
            0 => "*".to_owned(),
            1 => "+".to_owned(),
            2 => format!("{{{length}}}"),
            more => format!("{{0,{}}}", length + more),
        };
        format!("[{members}]{times}")
    });
    let plain = select(vec![
        ".*".to_owned(),
        ".+".to_owned(),
        "(.*)?".to_owned(),
        "(?s:.*)".to_owned(),
        "[^;]*".to_owned(),
        "[^|&]+".to_owned(),
        r"[\w\W]*".to_owned(),
        r"\P{Lu}*".to_owned(),
        format!(".{{0,{length}}}"),
        format!(".{{{length}}}"),
        r#"[a-zA-Z0-9 ._/=:'">{}-]*"#.to_owned(),
        r#"[a-z ./=:'">{}B-N-]*"#.to_owned(),
    ]);
    prop_oneof![ranged, plain].boxed()
}

/// A pattern that spells the beginning of an action, an action, and the same where the wildcard begins.
fn swallowed() -> impl Strategy<Value = (String, String)> {
    let cut = select(DANGERS).prop_flat_map(|(spelled, danger)| {
        let name = danger.find('|').unwrap();
        // Where the wildcard begins: at the word or inside it, at a letter of it.
        let letters = danger[..name].char_indices();
        let letters = letters.filter(|(_, c)| c.is_ascii_alphanumeric());
        let mut places: Vec<usize> = letters.map(|(at, _)| at).collect();
        places.push(0);
        (Just((spelled, danger)), select(places))
    });
    cut.prop_flat_map(|((spelled, danger), at)| {
        let whole = danger.replace('|', "");
        let action = format!("tool:bash:{spelled}{whole}");
        let fixed = format!("tool:bash:{spelled}{}", &whole[..at]);
        let rest: &'static str = String::leak(whole[at..].to_owned());
        wildcard(rest).prop_map(move |wildcard| {
            (
                format!("{}{wildcard}", regex::escape(&fixed)),
                action.clone(),
            )
        })
    })
}

fn completed() -> impl Strategy<Value = (String, String)> {
    select(NAMES).prop_flat_map(|(spelled, rest)| {
        wildcard(rest).prop_map(move |wildcard| {
            (
                format!("{}{wildcard}", regex::escape(spelled)),
                format!("{spelled}{rest}"),
            )
        })
    })
}

/// Expressions of `tool:` and what follows, as profiles hold them.
fn expression() -> impl Strategy<Value = String> {
    let tools = select(vec![
        "tool:bash:",
        "tool:(bash|view):",
        "tool:git:",
        "tool:.*:",
        "tool:[a-z]+:",
        "",
        "tool:ba",
        "tool:(?!git)",
    ]);
    let piece = select(vec![
        ".*",
        "ls",
        "git",
        "push",
        " ",
        "( .*)?",
        "[a-z]*",
        "[^;]*",
        r"\S+",
        "(?!push).*",
        "(a|b|.*)",
        r"\x{0}?",
        "[\\s\\S]*",
        ".{0,90}",
        "",
    ]);
    (tools, prop::collection::vec(piece, 0..4))
        .prop_map(|(tool, pieces)| format!("{tool}{}", pieces.concat()))
        .prop_filter("larger than a pattern may be", |pattern| {
            Profile::compile(&[pattern], &[], &[]).is_ok()
        })
}

#[test]
fn what_only_one_engine_finds_is_not_allowed() {
    for pattern in [r"tool:bash:\S+( .*)?\S+", "tool:bash:[^ ]+( .*)?[^ ]+"] {
        assert!(!is_allowed(pattern, "tool:bash:a"), "{pattern}");
        assert!(is_allowed(pattern, "tool:bash:ls"), "{pattern}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_wildcard_covers_a_word_that_must_be_spelled((pattern, action) in swallowed()) {
        prop_assert!(!is_allowed(&pattern, &action), "{action} was allowed by {pattern}");
    }

    #[test]
    fn no_wildcard_completes_a_name((pattern, action) in completed()) {
        prop_assert!(!is_allowed(&pattern, &action), "{action} was allowed by {pattern}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_allowed_matches_the_pattern_as_another_engine_reads_it(
        pattern in expression().prop_filter("no look-around", |pattern| !pattern.contains("(?!")),
        details in prop::collection::vec("(ls|git|a|b|push|-x|--output=y|/| ){0,6}", 8),
    ) {
        let whole = Regex::new(&format!(r"\A(?s:{pattern})\z")).unwrap();
        for detail in details {
            // Blanks around a command are none of it.
            let action = format!("tool:bash:{}", detail.trim());
            prop_assert!(
                whole.is_match(&action) || !is_allowed(&pattern, &action),
                "{action} was allowed by {pattern}"
            );
        }
    }

    #[test]
    fn a_tool_that_counts_as_denied_is_denied_whatever_it_is_called_with(
        allow in expression(),
        deny in expression(),
        subject in select(vec!["bash", "git", "git:push", "view"]),
        details in prop::collection::vec(prop_oneof!["[ -~]{0,30}", "(ls|git|push|;| ){0,6}", ".{0,20}"], 8),
    ) {
        let profile = Profile::compile(&[&allow], &[], &[&deny]).unwrap();
        if profile.denies_all(subject) {
            let separator = if subject.contains(':') { " " } else { ":" };
            for detail in details {
                let action = format!("tool:{subject}{separator}{detail}");
                let Ok(action) = Action::parse(&action) else { continue };
                let verdict = profile.decide(&action, &[]);
                prop_assert_eq!(verdict.decision, Decision::Deny, "{} by {} and {}", action, allow, deny);
            }
        }
    }
}
