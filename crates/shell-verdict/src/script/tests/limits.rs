//! Lines made to be expensive: they are parsed within the bounds, and skipped parts are reported.

use crate::Script;

/// Beginnings of the constructs that shells nest, list and quote.
const UNITS: [&str; 22] = [
    "ls; ",
    "(",
    "$(",
    "`",
    "\"",
    "'",
    "{",
    "a=",
    "<<E\n",
    "<(",
    "\\\n",
    "ls \n",
    "é",
    "|",
    "$((",
    "[[ ",
    "x() {",
    "case x in ",
    "if ",
    "$x ",
    "sh -c '",
    "\u{301}",
];

#[test]
fn a_line_of_a_megabyte_is_doubted_and_may_hide_anything() {
    for unit in UNITS {
        let script = Script::parse(&unit.repeat((1 << 20) / unit.len()));
        assert!(script.doubt().is_some(), "{unit:?}");
        assert!(script.hides().is_some(), "{unit:?}");
    }
}

#[test]
fn a_line_as_long_as_is_read_is_taken_apart_or_doubted() {
    for unit in UNITS {
        let script = Script::parse(&unit.repeat((60 << 10) / unit.len()));
        assert!(
            script.doubt().is_some() || script.hides().is_some() || !script.commands().is_empty(),
            "{unit:?}"
        );
    }
    let script = Script::parse(&format!("echo {}", "word ".repeat(12_000)));
    assert_eq!((script.doubt(), script.hides()), (None, None));
    let [command] = script.commands() else {
        panic!("it is one command");
    };
    assert_eq!(command.words().len(), 12_001);
}

#[test]
fn commands_that_multiply_are_said_to_hide_something() {
    for command in [
        "poetry run ",
        "find . -exec ",
        "eval ",
        "git submodule foreach ",
    ] {
        let script = Script::parse(&format!("{} rm -rf x", command.repeat(5_000)));
        let seen = script.forms().any(|form| form.starts_with("rm -rf x"));
        assert!(seen || script.hides().is_some(), "{command}");
    }
}
