//! Secrets kept out of text.

use super::Redactor;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;

const SECRET: &str = "s3cr3t/Value+with=odd~chars & blanks";

fn redactor() -> Redactor {
    Redactor::new(vec![
        SECRET.to_owned(),
        "hunter22".to_owned(),
        "short".to_owned(),
    ])
}

#[test]
fn configured_values_are_removed_and_other_words_stay() {
    let redactor = redactor();
    assert_eq!(
        redactor.redact(&format!("a {SECRET} b hunter22.")),
        "a [redacted] b [redacted]."
    );
    assert_eq!(
        redactor.redact("a short text, nothing in it"),
        "a short text, nothing in it"
    );
    assert_eq!(Redactor::default().redact("plain"), "plain");
}

#[test]
fn base64_is_seen_at_every_alignment() {
    let redactor = redactor();
    for before in ["", "x", "xy", "xyz", "user:", "DISCORD_TOKEN="] {
        for after in ["", "\n", "ab", "abc"] {
            let text = format!("{before}{SECRET}{after}");
            for code in [
                BASE64_STANDARD.encode(&text),
                BASE64_URL_SAFE_NO_PAD.encode(&text),
            ] {
                let shown = redactor.redact(&code).into_owned();
                assert!(shown.contains("[redacted]"), "{text}: {shown}");
                assert!(
                    shown.len() < before.len() * 2 + after.len() * 2 + 24,
                    "{text}: {shown}"
                );
            }
        }
    }
}

#[test]
fn base64_over_several_lines_and_hexadecimal_are_seen() {
    let long = "0123456789abcdefghij".repeat(5);
    let redactor = Redactor::new(vec![long.clone()]);
    let code = BASE64_STANDARD.encode(&long);
    let wrapped = format!("{}\n{}\n", &code[..76], &code[76..]);
    assert!(!redactor.redact(&wrapped).contains(&code[80..100]));
    let hex: String = long.bytes().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(redactor.redact(&hex), "[redacted]");
}

#[test]
fn url_encoding_of_any_of_its_characters_is_seen() {
    let redactor = redactor();
    for encoded in [
        "s3cr3t%2FValue%2Bwith%3Dodd~chars%20%26%20blanks",
        "s3cr3t%2fValue%2bwith=odd~chars+%26+blanks",
        "%733cr3t/Value+with=odd%7Echars & blanks",
    ] {
        assert_eq!(redactor.redact(encoded), "[redacted]");
    }
    let quoted = Redactor::new(vec!["with\"quote\\and more".to_owned()]);
    assert_eq!(
        quoted.redact(r#"{"a":"with\"quote\\and more"}"#),
        r#"{"a":"[redacted]"}"#
    );
}

#[test]
fn each_line_of_a_key_is_a_secret() {
    let key = format!(
        "-----BEGIN X-----\n{}\n{}\n-----END X-----",
        "A1b2".repeat(16),
        "C3d4".repeat(16)
    );
    let redactor = Redactor::new(vec![key]);
    assert_eq!(
        redactor.redact(&format!("got {}", "C3d4".repeat(16))),
        "got [redacted]"
    );
}

#[test]
fn what_is_left_of_a_value_where_a_text_was_cut_is_removed() {
    let redactor = redactor();
    for left in 8..SECRET.len() {
        let (begun, ended) = (&SECRET[..left], &SECRET[SECRET.len() - left..]);
        let cut = redactor.redact(&format!("curl {begun}… and")).into_owned();
        assert_eq!(cut, "curl [redacted]… and");
        let cut = redactor
            .redact(&format!("it goes on …{ended} so"))
            .into_owned();
        assert_eq!(cut, "it goes on [redacted]… so");
    }
    let both = format!("{}…{}", &SECRET[..10], &SECRET[SECRET.len() - 10..]);
    assert_eq!(redactor.redact(&both), "[redacted]…");
    for plain in ["s3cr3t…", "wait … and see", "…", "……", "hunter2…"] {
        assert_eq!(redactor.redact(plain), plain);
    }
}

#[test]
fn a_word_without_end_is_not_searched_anew_for_each_piece() {
    let redactor = redactor();
    let word = "e\u{301}".repeat(200_000);
    let mut stream = redactor.stream();
    let mut shown = String::new();
    for piece in word.as_bytes().chunks(24) {
        shown.push_str(&stream.push(std::str::from_utf8(piece).unwrap()));
    }
    shown.push_str(&stream.finish());
    assert!(shown == word);
    let cuts = "a…".repeat(500_000);
    assert!(redactor.redact(&cuts) == cuts);
}

/// Returns tokens that look like real ones, put together here so that no scanner takes this file for a leak.
fn tokens() -> Vec<String> {
    let a = |count: usize| "aB3dE5fG7h".chars().cycle().take(count).collect::<String>();
    vec![
        format!("M{}.{}.{}", a(25), a(6), a(38)),
        format!("sk-ant-api03-{}", a(40)),
        format!("sk-proj-{}", a(40)),
        format!("sk-{}", a(48)),
        format!("ghp_{}", a(36)),
        format!("github_pat_{}", a(60)),
        format!("AKIA{}", "A2B3C4D5E6F7G8H9"),
        format!("xoxb-1234567890-{}", a(24)),
        format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            a(64)
        ),
        format!("eyJ{}.eyJ{}.{}", a(20), a(30), a(43)),
        format!("AIza{}", a(35)),
        format!("glpat-{}", a(20)),
        format!("npm_{}", a(36)),
        format!("hf_{}", a(34)),
    ]
}

#[test]
fn tokens_of_known_shapes_are_masked() {
    let redactor = Redactor::default();
    for token in tokens() {
        assert_eq!(
            redactor.redact(&format!("it is {token}, keep it")),
            "it is [redacted], keep it"
        );
    }
    let bearer = format!("Authorization: Bearer {}", "x9".repeat(20));
    assert_eq!(redactor.redact(&bearer), "Authorization: Bearer [redacted]");
    assert_eq!(
        redactor.redact("https://ann:pass123@git.example/x"),
        "https://ann:[redacted]@git.example/x"
    );
    let assigned = format!("MY_API_KEY=\"{}\"", "x9".repeat(12));
    assert_eq!(redactor.redact(&assigned), "MY_API_KEY=\"[redacted]\"");
}

#[test]
fn a_token_between_letters_of_any_script_is_masked() {
    let redactor = Redactor::default();
    for token in tokens() {
        for (before, after) in [
            ("密钥是", "，请保存"),
            ("ключ", "и"),
            ("é", "à"),
            ("🔑", "🔒"),
        ] {
            assert_eq!(
                redactor.redact(&format!("{before}{token}{after}")),
                format!("{before}[redacted]{after}")
            );
        }
    }
    let bearer = format!("钥Bearer {}", "x9".repeat(20));
    assert_eq!(redactor.redact(&bearer), "钥Bearer [redacted]");
    let assigned = format!("钥MY_API_KEY={}", "x9".repeat(12));
    assert_eq!(redactor.redact(&assigned), "钥MY_API_KEY=[redacted]");
}

#[test]
fn ordinary_text_is_left_alone() {
    let redactor = Redactor::default();
    for text in [
        "the bearer of good news",
        "let token = read_token();",
        "risk-free and task-oriented-programming-language",
        "git log 3f2a9c1d8e7b6a5f4c3d2e1f0a9b8c7d6e5f4a3b",
        "https://example.org:8080/path?x=1",
        "550e8400-e29b-41d4-a716-446655440000",
        "a.b.c and 127.0.0.1",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

proptest! {
    #[test]
    fn however_a_text_is_cut_the_stream_shows_no_secret(cuts in proptest::collection::vec(1_usize..40, 1..60)) {
        let redactor = redactor();
        let encoded = BASE64_STANDARD.encode(format!("xy{SECRET}z"));
        let whole = format!(
            "Hello hunter22, {SECRET} and {encoded} s3cr3t%2FValue%2Bwith%3Dodd~chars%20%26%20blanks\n{}\nBearer {} bye",
            tokens().join(" then "),
            "y8".repeat(20),
        );
        let mut stream = redactor.stream();
        let mut shown = String::new();
        let mut rest = whole.as_str();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            shown.push_str(&stream.push(piece));
            rest = after;
        }
        shown.push_str(&stream.finish());
        prop_assert_eq!(shown, redactor.redact(&whole).into_owned());
    }
}
