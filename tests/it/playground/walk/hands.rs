//! Slash commands and forms, many times in a row, by keyboard and by finger: no letter goes without its list, no press without its form.

use super::chromium::{Browser, Hand, Light, Screen};
use super::{at_the_desk, makes_agent};

/// Keys of an agent, typed letter by letter: thirty lists.
const KEYS: [&str; 3] = ["idle_timeout", "model", "system_prompt"];

/// How often the form is opened by each hand.
const FORMS: usize = 4;

/// Counts the answers of the bot that come before the request returns which asked for them. How many do depends on speed, and no
/// test on how many do.
async fn counts_early_answers(browser: &mut Browser) {
    browser
        .evaluates(
            "(() => {
                window.early = { of: 0, count: 0 };
                const [real, parse, answered] = [fetch, JSON.parse, new Set()];
                JSON.parse = (text, ...more) => {
                    const value = parse(text, ...more);
                    if (value?.t === 'answer') answered.add(value.interaction);
                    return value;
                };
                window.fetch = async (...asked) => {
                    const response = await real(...asked);
                    if (asked[0] !== '/api/act') return response;
                    const body = await response.json();
                    if (body.interaction) early.of += 1;
                    if (answered.has(body.interaction)) early.count += 1;
                    return { ok: response.ok, status: response.status, json: async () => body };
                };
            })()",
        )
        .await;
}

/// Opens the fields of `/agent config` for the agent, and counts each list of keys that is drawn.
async fn opens_config(browser: &mut Browser, hand: Hand) {
    match hand {
        Hand::Mouse => {
            browser
                .evaluates("document.querySelector('#composer-text').focus()")
                .await
        }
        Hand::Finger => {
            browser.clicks("#composer-text", "").await;
            serde_json::Value::Null
        }
    };
    browser.types("/agent config").await;
    browser.sees("document.querySelector('.suggestions:not([hidden]) [aria-selected=true]')?.innerText.includes('/agent config')").await;
    match hand {
        Hand::Mouse => browser.presses_enter().await,
        Hand::Finger => browser.clicks("[role=option]", "/agent config").await,
    }
    browser
        .sees("document.activeElement.id === 'option-name'")
        .await;
    browser.types("helper").await;
    browser
        .evaluates(
            "(() => {
                const list = document.querySelector('#option-key-choices');
                let lists = 0;
                const count = new MutationObserver(() => { document.body.dataset.lists = ++lists; });
                count.observe(list, { childList: true });
                list.addEventListener('scroll', () => { document.body.dataset.scrolled = 'yes'; });
                document.body.dataset.lists = 0;
            })()",
        )
        .await;
    match hand {
        Hand::Mouse => browser.presses_key("Tab", 0).await,
        Hand::Finger => browser.clicks("#option-key", "").await,
    }
    has_drawn(browser, 1, "").await;
}

/// Waits for the list with this number, which must be the one for what is typed.
async fn has_drawn(browser: &mut Browser, number: usize, typed: &str) {
    browser
        .sees(&format!("Number(document.body.dataset.lists) >= {number}"))
        .await;
    let seen = browser
        .evaluates(&format!(
            "(() => {{
                const shown = [...document.querySelectorAll('#option-key-choices:not([hidden]) li')];
                return [Number(document.body.dataset.lists), document.querySelector('#option-key').value,
                    shown.length > 0 && shown.every((one) => one.innerText.includes('{typed}'))];
            }})()"
        ))
        .await;
    assert_eq!(seen, serde_json::json!([number, typed, true]));
}

/// Takes the choice called `key` out of the list.
async fn takes(browser: &mut Browser, hand: Hand, key: &str) {
    match hand {
        Hand::Finger => browser.clicks("#option-key-choices li", key).await,
        Hand::Mouse => {
            let at = browser
                .evaluates(&format!(
                    "[...document.querySelectorAll('#option-key-choices li')].findIndex((one) => one.innerText === '{key}')"
                ))
                .await;
            for _ in 0..=at.as_u64().expect(key) {
                browser.presses_key("ArrowDown", 0).await;
            }
            browser.presses_enter().await;
        }
    }
    browser
        .sees(&format!(
            "document.querySelector('#option-key').value === '{key}' && document.querySelector('#option-key-choices').hidden"
        ))
        .await;
}

async fn opens_the_form_again_and_again(browser: &mut Browser, hand: Hand) {
    for _ in 0..FORMS {
        let edit = "[...document.querySelectorAll('.message .press')].findLast((one) => one.innerText === 'Edit')";
        browser.sees(edit).await;
        match hand {
            Hand::Mouse => {
                browser.evaluates(&format!("{edit}.focus()")).await;
                browser.presses_enter().await;
            }
            Hand::Finger => browser.clicks(".message .press", "Edit").await,
        }
        browser
            .sees("document.querySelector('dialog[open] textarea')?.value.length")
            .await;
        match hand {
            Hand::Mouse => browser.presses_key("Escape", 0).await,
            Hand::Finger => browser.clicks("dialog .press", "Cancel").await,
        }
        browser
            .sees("!document.querySelector('dialog[open]')")
            .await;
    }
}

async fn goes_without_a_miss(screen: Screen, hand: Hand) {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    browser.screen(screen, Light::Dark).await;
    browser.points_with(hand).await;
    counts_early_answers(&mut browser).await;
    opens_config(&mut browser, hand).await;
    if hand == Hand::Finger {
        // Who scrolls a list has chosen nothing.
        browser.drags_up("#option-key-choices li", "", 120).await;
        browser.sees("document.body.dataset.scrolled").await;
        has_drawn(&mut browser, 1, "").await;
    }
    let mut lists = 1;
    for key in KEYS {
        browser
            .evaluates("document.querySelector('#option-key').select()")
            .await;
        for end in 1..=key.len() {
            browser.types(&key[end - 1..end]).await;
            lists += 1;
            has_drawn(&mut browser, lists, &key[..end]).await;
        }
        takes(&mut browser, hand, key).await;
    }
    match hand {
        Hand::Mouse => browser.presses_enter().await,
        Hand::Finger => browser.clicks(".composer .press", "Run").await,
    }
    opens_the_form_again_and_again(&mut browser, hand).await;
    let early = browser.evaluates("`${early.count} of ${early.of}`").await;
    println!("answers that came before their request returned: {early}");
}

#[tokio::test]
async fn thirty_lists_and_four_forms_by_keyboard() {
    goes_without_a_miss(Screen::Desktop, Hand::Mouse).await;
}

#[tokio::test]
async fn thirty_lists_and_four_forms_by_finger() {
    goes_without_a_miss(Screen::Phone, Hand::Finger).await;
}
