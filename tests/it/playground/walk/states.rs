//! What stands between and in messages, and the rules of accessibility in every state of the page.

use super::chromium::{Browser, Hand, Light, Screen};
use super::page::{axe, breaks_no_rule};
use super::{at_the_desk, has_another_channel, makes_agent};
use crate::referee;

/// Says `text` in `#other`, by the page's own interface.
async fn says_in_other(browser: &mut Browser, text: &str) {
    let text = serde_json::json!(text);
    browser
        .evaluates(&format!(
            "acts({{ as: me, do: 'say', channel: other, content: {text} }})"
        ))
        .await;
}

#[tokio::test]
async fn a_day_and_what_is_new_have_their_lines() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser.clicks(".channel", "other").await;
    says_in_other(&mut browser, "seen").await;
    browser.reads("seen").await;
    browser.clicks(".channel", "general").await;
    browser
        .sees("document.querySelector('#title').innerText.includes('general')")
        .await;
    says_in_other(&mut browser, "not seen yet").await;
    browser
        .sees("document.querySelector('.channel.unread')?.innerText.includes('other')")
        .await;
    browser.clicks(".channel", "other").await;
    browser
        .sees("document.querySelector('.line.new')?.closest('.message').innerText.includes('not seen yet')")
        .await;
    let days = "[...document.querySelectorAll('.line.day')].map((one) => one.closest('.message').innerText.includes('seen'))";
    assert_eq!(browser.evaluates(days).await, serde_json::json!([true]));
}

#[tokio::test]
async fn code_has_its_colours_and_stays_what_it_was() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser.clicks(".channel", "other").await;
    let code = "fn main() { println!(\"<b>&amp; {}</b> <img src=x onerror=alert(1)>\", 'x'); }";
    says_in_other(&mut browser, &format!("```rust\n{code}\n```")).await;
    browser
        .sees("document.querySelector('.code .hljs-keyword')")
        .await;
    let text = "document.querySelector('.code code').textContent";
    assert_eq!(browser.evaluates(text).await, code);
    assert_eq!(
        browser
            .evaluates("document.querySelectorAll('.code img, .code b').length")
            .await,
        0
    );
    says_in_other(&mut browser, "```nolang\nlet plain = 1;\n```").await;
    browser.reads("let plain = 1;").await;
    let spans =
        "[...document.querySelectorAll('.code')].at(-1).querySelectorAll('pre span').length";
    assert_eq!(browser.evaluates(spans).await, 0);
}

/// The library is what its project published, byte by byte.
#[test]
fn the_library_of_colours_is_its_projects_own_build() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let ours = folder.join("crates/playground/src/page/highlight.js");
    let Some(theirs) = referee::fetched("@highlightjs/cdn-assets/es/highlight.min.js") else {
        return;
    };
    assert!(std::fs::read_to_string(ours).unwrap() == theirs);
}

#[tokio::test]
async fn no_dialog_or_list_of_it_breaks_a_rule_of_accessibility() {
    let Some(axe) = axe() else {
        return;
    };
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    browser.evaluates(&format!("{axe}; undefined")).await;
    has_another_channel(&mut browser).await;
    makes_agent(&mut browser).await;
    browser.clicks("#composer-text", "").await;
    browser.types("create a file a.txt with a").await;
    browser.presses_enter().await;
    browser.reads("Done.").await;
    // Where nobody answers: nothing is drawn again while it is looked at.
    browser.clicks(".channel", "other").await;
    browser
        .sees("document.querySelector('#title').innerText.includes('other') && document.querySelector('.welcome')")
        .await;
    breaks_no_rule(&mut browser, "an empty channel").await;
    says_code(&mut browser).await;
    for (screen, light, hand, name) in [
        (Screen::Desktop, Light::Dark, Hand::Mouse, "desktop, dark"),
        (
            Screen::Desktop,
            Light::Bright,
            Hand::Mouse,
            "desktop, light",
        ),
        (Screen::Phone, Light::Dark, Hand::Finger, "phone, dark"),
        (Screen::Phone, Light::Bright, Hand::Finger, "phone, light"),
    ] {
        browser.screen(screen, light).await;
        browser.points_with(hand).await;
        breaks_no_rule(&mut browser, &format!("{name}: code in colours")).await;
        sees_each_dialog(&mut browser, name).await;
        if hand == Hand::Finger {
            browser.clicks("#drawer", "").await;
            has_come_to_rest(&mut browser).await;
            breaks_no_rule(&mut browser, &format!("{name}: channels")).await;
            browser.clicks(".channel[aria-current=page]", "").await;
            has_come_to_rest(&mut browser).await;
        }
    }
}

/// Code in the languages that agents show, and a picture in an embed.
async fn says_code(browser: &mut Browser) {
    let samples = [
        "```rust\n/// Doc.\n#[derive(Debug)]\nstruct A<'a> { b: &'a str }\nfn main() { let c = 1 + 'd' as u32; println!(\"{c}\"); }\n```",
        "```python\n# comment\n@decorated\ndef name(self, a: int = 1) -> str:\n    return f\"{a}\" if None else r'x'\n```",
        "```bash\n# comment\nfor file in *.txt; do echo \"$file\" | grep -c x && exit 1; done\n```",
        "```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n```\n```json\n{\"key\": [1, true, null, \"text\"]}\n```",
        "```yaml\nkey: value # comment\nlist:\n  - &anchor 1\n```\n```xml\n<a href=\"x\">text</a>\n```\n```css\na.b#c[d]:hover { color: #fff; --x: 1px; }\n```",
    ];
    for sample in samples {
        let sample = serde_json::json!(sample);
        browser
            .evaluates(&format!(
                "(async () => {{
                    const {{ act, state }} = await import('/api.js');
                    await act('say', {{ channel: state.channel, content: {sample} }});
                }})()"
            ))
            .await;
    }
    browser
        .sees("document.querySelectorAll('.code').length >= 8 && document.querySelector('.hljs-selector-pseudo')")
        .await;
    browser.clicks("#composer-text", "").await;
    browser.types("/usage").await;
    browser.clicks("[role=option]", "/usage").await;
    browser.clicks(".composer .press", "Run").await;
    browser
        .sees("document.querySelector('.embed .picture img')")
        .await;
    assert_eq!(
        browser
            .evaluates("document.querySelectorAll('.message-main > .picture').length")
            .await,
        0,
        "a picture that an embed shows stands there alone"
    );
}

/// Every transition of the page has ended.
async fn has_come_to_rest(browser: &mut Browser) {
    browser
        .evaluates("Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))")
        .await;
}

async fn sees_each_dialog(browser: &mut Browser, name: &str) {
    let dialogs = [
        ("act as", "switchPerson()"),
        ("a further channel", "promptChannel()"),
        ("where to", "jump()"),
        ("a thread", "promptThread({})"),
        ("delete", "confirmDelete({})"),
        (
            "a form of the bot",
            "openForm({ title: 'A form', components: [
                { components: [{ type: 4, style: 1, custom_id: 'a', label: 'One line', required: true }] },
                { components: [{ type: 4, style: 2, custom_id: 'b', label: 'Many lines', placeholder: 'as you like', required: false }] },
            ] }, '1')",
        ),
    ];
    for (dialog, open) in dialogs {
        browser
            .evaluates(&format!(
                "import('/dialogs.js').then((dialogs) => {{ const {{ switchPerson, promptChannel, jump, promptThread, confirmDelete, openForm }} = dialogs; {open}; }})"
            ))
            .await;
        browser.sees("document.querySelector('dialog[open]')").await;
        has_come_to_rest(browser).await;
        breaks_no_rule(browser, &format!("{name}: {dialog}")).await;
        browser
            .evaluates("import('/dialogs.js').then((dialogs) => dialogs.closeDialog())")
            .await;
    }
    // A reply that is being written, and the emoji of its message.
    browser
        .evaluates("[...document.querySelectorAll('.message:not(.ephemeral) .toolbar [aria-label=Reply]')].at(-1).click()")
        .await;
    browser
        .evaluates("[...document.querySelectorAll('.message:not(.ephemeral) .toolbar [aria-label=React]')].at(-1).click()")
        .await;
    browser
        .sees("document.querySelector('.composing:not([hidden])') && document.querySelector('.emoji-picker')")
        .await;
    has_come_to_rest(browser).await;
    breaks_no_rule(browser, &format!("{name}: a reply and its emoji")).await;
    browser
        .evaluates("document.querySelector('.emoji-picker').remove(); document.querySelector('.composing button').click()")
        .await;
}
