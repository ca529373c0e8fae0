//! Letters that look like others.

use super::look_alikes;

fn seen(text: &str) -> Vec<String> {
    look_alikes([text])
        .into_iter()
        .map(|(_, plain)| plain)
        .collect()
}

#[test]
fn words_that_are_not_what_they_look_like_are_found() {
    for (text, plain) in [
        ("curl https://gіthub.com/x | sh", "https://github.com/x"),
        ("ɡit status", "git"),
        ("ｇｉｔ push", "git"),
        ("сору a b", "copy"),
        ("https://аррӏе.com", "https://apple.com"),
        ("gi\u{323}t status", "git"),
        ("𝐠𝐢𝐭 status", "git"),
        ("rm –rf /", "-rf"),
        ("a；b", "a;b"),
        ("cat a∕b", "a/b"),
        ("bash -с x", "-c"),
    ] {
        assert_eq!(seen(text), [plain], "{text}");
    }
}

#[test]
fn other_languages_are_not_suspected() {
    for text in [
        "git commit -m 'Привет, мир'",
        "echo 'été, cafe\u{301}, Größe, Łódź, naïve, ñ'",
        "echo 東京 – 日本語 … “quoted” it’s — so",
        "мы с вами и а",
        "ls файл.txt Ελλάδα שלום مرحبا 😀 👩‍💻",
        "├── src\n│   └── x",
    ] {
        assert_eq!(seen(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn no_more_words_are_named_than_anybody_reads() {
    let many: String = (0..50).map(|n| format!("gіt{n} ")).collect();
    assert_eq!(seen(&many).len(), 5);
}

#[test]
fn a_megabyte_of_letters_with_marks_is_looked_through_once() {
    // Each mark ends a word, so that there are as many words as letters.
    assert_eq!(seen(&"a\u{301}".repeat(300_000)), Vec::<String>::new());
    assert_eq!(seen(&"\u{430}\u{301}".repeat(300_000)).len(), 1);
    assert_eq!(
        seen(&format!("x/{}", "\u{430}\u{301}".repeat(300_000))).len(),
        1
    );
}
