//! Braces before characters that the parser's scanner cannot take: it looked them up beyond a table's end.

use chorus::permission::{Action, Decision, Profile};
use proptest::prelude::*;

fn decide(profile: &Profile, command: &str) -> Decision {
    let action = Action::shell("bash", command);
    profile.decide(&action, &[]).decision
}

fn narrow() -> Profile {
    Profile::compile(
        &["tool:bash:(echo|cat)( .*)?"],
        &[".*"],
        &["tool:bash:rm .*"],
    )
    .unwrap()
}

/// Characters of every size and plane.
const FAR: [char; 8] = [
    '\u{100}',
    'Ж',
    '日',
    '\u{FFFD}',
    '😀',
    '\u{20000}',
    '\u{F0000}',
    '\u{10FFFD}',
];

#[test]
fn no_character_behind_a_brace_ends_the_process() {
    let open = Profile::builtin("open").unwrap();
    let guarded = Profile::builtin("guarded").unwrap();
    for far in FAR {
        for command in [
            format!("echo {{{far}}}"),
            format!("echo {{{far}"),
            format!("echo {{1{far}}}"),
            format!("echo {{1..{far}}}"),
            format!("echo {{..{far}"),
            format!("echo {{1..22{far}}}"),
            format!("echo {{{{{far},{{{far}}}}}"),
            format!("{{{far}=1 ls"),
            format!("echo ${{{far}}} \"${{{far}}}\" '{{{far}'"),
            format!("{{{far}() {{ ls; }}"),
        ] {
            assert_eq!(decide(&open, &command), Decision::Allow, "{command}");
            decide(&guarded, &command);
            for after in ["; rm x", " $(rm x)", "\nrm x", " | rm x"] {
                let command = format!("{command}{after}");
                let told = decide(&narrow(), &command);
                assert_ne!(told, Decision::Allow, "{command}");
            }
        }
    }
}

#[test]
fn words_of_other_languages_behind_braces_are_judged_as_english_ones() {
    let profile = narrow();
    for command in [
        "echo {word,other}",
        "echo '{word}' \"{word}\"",
        "echo {word,other}; rm x",
        "cat <<'EOF'\n\\section{word}\nEOF",
        "cat <<'EOF'\n\\section{word}\nEOF\nrm x",
    ] {
        let foreign = command.replace("word", "Привет").replace("other", "日本");
        assert_eq!(
            decide(&profile, &foreign),
            decide(&profile, command),
            "{foreign}"
        );
    }
    let open_but_rm = Profile::compile(&[".*"], &[], &["tool:bash:rm .*"]).unwrap();
    let document = "cat <<'EOF'\n\\section{Привет}\nEOF";
    assert_eq!(decide(&open_but_rm, document), Decision::Allow);
}

/// Read as letters, one delimiter of a here-document could be another.
#[test]
fn no_here_document_ends_where_bash_goes_on() {
    for command in [
        "cat <<'{Ж'\n{Д\n'\n{Ж\nrm x\n'",
        "cat <<'{xx'\n{Д\n'\n{xx\nrm x\n'",
        "cat <<\\\n'{Ж'\n{Д\n'\n{Ж\nrm x\n'",
    ] {
        assert_ne!(decide(&narrow(), command), Decision::Allow, "{command}");
    }
}

proptest! {
    #[test]
    fn every_text_with_braces_gets_a_verdict(texts in prop::collection::vec(any::<String>(), 1..5)) {
        let open = Profile::builtin("open").unwrap();
        for joint in ["{", "{1", "{..", "{1..2", " {", "<<{"] {
            prop_assert_eq!(decide(&open, &texts.join(joint)), Decision::Allow);
        }
    }
}
