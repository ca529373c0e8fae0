//! Files that somebody made to break the reader.

use chorus::charter::Trust;
use proptest::prelude::*;

use super::{bytes_compiled, ours};

#[test]
fn what_no_charter_may_hold_is_refused_by_name() {
    let nested = format!(
        "---\nreport: {}{}\n---\nx",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let deep = format!("---\nreport:\n {}x\n---\nx", "- ".repeat(5000));
    let many = format!("---\nskills: [{}]\n---\nx", "a,".repeat(5000));
    let cases: [(&str, &str); 6] = [
        ("---\na: &x [1]\nb: *x\n---\nc", "an anchor"),
        ("---\nname: !!binary aGk=\n---\nc", "a tag"),
        ("---\nname: a\nname: b\n---\nc", "the key `name` twice"),
        (&nested, "16 levels"),
        (&deep, "16 levels"),
        (&many, "4,000 values"),
    ];
    for (text, expected) in cases {
        let said = ours(text).expect_err(expected).to_string();
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_star_without_quotes_is_no_alias() {
    let role = ours("---\nname: a\ndescription: b\ntools: *\n---\nc").unwrap();
    assert_eq!(role.tools, None);
    assert_eq!(role.notes.len(), 1, "{:?}", role.notes);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for (bytes, expected) in [
        (vec![0xff, 0xfe, b'a', 0], "UTF-16"),
        (vec![b'a', 0xc3, 0x28], "not UTF-8"),
        (b"---\nname: a\0\n---\n".to_vec(), "NUL"),
        (vec![b'a'; (64 << 10) + 1], "64 KiB"),
        (
            [b"---\n".as_slice(), &vec![b'#'; 17 << 10], b"\n---\nx"].concat(),
            "16 KiB",
        ),
    ] {
        let said = bytes_compiled("a.md", &bytes, Trust::Repository).unwrap_err();
        assert!(said.to_string().contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_role_says_nothing_of_control_characters() {
    let said = ours("---\nname: a\ndescription: b\n\u{202e}key: 1\n---\nc").unwrap_err();
    assert!(!said.to_string().contains('\u{202e}'), "{said}");
}

proptest! {
    #[test]
    fn any_bytes_give_a_role_or_reasons(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = bytes_compiled("a.md", &bytes, Trust::Repository);
    }

    #[test]
    fn any_front_matter_gives_a_role_or_reasons(
        lines in proptest::collection::vec(r#"(name|tools|model|report|handoff|x)?(: |:| )?[-\[\]{}&*!'"|>#%@`,:? \ta-z0-9(]{0,40}"#, 0..12),
    ) {
        for trust in [Trust::People, Trust::Repository] {
            let text = format!("---\n{}\n---\nx", lines.join("\n"));
            let _ = bytes_compiled("a.md", text.as_bytes(), trust);
        }
    }
}
