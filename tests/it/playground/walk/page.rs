//! The page itself: answers in any order, mentions, keys, and the rules of accessibility.

use super::{Screen, at_the_desk, has_another_channel, makes_agent};
use crate::playground::walk::chromium::{Browser, Light};
use crate::referee;

/// Holds back what the page is answered at `path` until `window.lets_go()`.
async fn holds_back(browser: &mut Browser, path: &str) {
    let script = format!(
        "(() => {{
            const real = fetch;
            const free = new Promise((go) => {{ window.lets_go = go; }});
            window.fetch = async (...asked) => {{
                const answer = await real(...asked);
                if (!String(asked[0]).startsWith('{path}')) return answer;
                const {{ ok, status }} = answer;
                const body = await answer.json();
                document.body.dataset.held = '{path}';
                await free;
                return {{ ok, status, json: async () => body }};
            }};
        }})()"
    );
    browser.evaluates(&script).await;
}

/// Writes on the document what the bot answered last, when the page has read it.
async fn notes_answers(browser: &mut Browser) {
    browser
        .evaluates(
            "(() => {
                const parse = JSON.parse;
                JSON.parse = (text, ...more) => {
                    const value = parse(text, ...more);
                    if (value?.t === 'answer') document.body.dataset.answer = JSON.stringify(value.d);
                    return value;
                };
            })()",
        )
        .await;
}

/// A message is drawn again while somebody chooses an emoji for it.
#[tokio::test]
async fn a_choice_of_emoji_stays_open_while_its_message_changes() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser.clicks(".channel", "other").await;
    browser
        .evaluates("acts({ as: me, do: 'say', channel: other, content: 'a message to react to' })")
        .await;
    browser.reads("a message to react to").await;
    browser
        .evaluates(
            "[...document.querySelectorAll('.message .toolbar [aria-label=React]')].at(-1).click()",
        )
        .await;
    browser
        .sees("document.querySelector('.emoji-picker')")
        .await;
    browser
        .evaluates(
            "(async () => {
                 const all = await (await real(`/api/channels/${other}/messages?as=${me}`)).json();
                 const { id } = all.find((one) => one.content === 'a message to react to');
                 await acts({ as: me, do: 'react', channel: other, message: id, emoji: '👀' });
             })()",
        )
        .await;
    browser
        .sees("document.querySelector('.reaction')?.innerText.includes('👀')")
        .await;
    browser.clicks(".emoji-picker button", "🎉").await;
    browser
        .sees("[...document.querySelectorAll('.reaction')].some((one) => one.innerText.includes('🎉')) && !document.querySelector('.emoji-picker')")
        .await;
}

/// Our own scrolling is told late: by then a message may have grown. Only who scrolls up leaves the newest.
#[tokio::test]
async fn the_newest_stays_in_view_unless_somebody_scrolls_up() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser.clicks(".channel", "other").await;
    browser
        .evaluates(
            "(async () => {
                 window.log = document.querySelector('#messages');
                 window.says = async (content) => acts({ as: me, do: 'say', channel: other, content });
                 // What scrolling and sizes bring about is done two frames later.
                 window.drawn = (look) => new Promise((done) =>
                     requestAnimationFrame(() => requestAnimationFrame(() => done(look()))));
                 for (let line = 0; line < 40; line++) await says(`line ${line}`);
             })()",
        )
        .await;
    browser.reads("line 39").await;
    browser
        .evaluates(
            "(() => {
                 log.scrollTop -= 60;
                 log.scrollTop = log.scrollHeight;
                 log.querySelector('.message:last-child').style.minHeight = '900px';
             })()",
        )
        .await;
    let is_in_view = browser
        .evaluates("drawn(() => log.scrollHeight - log.scrollTop - log.clientHeight < 120)")
        .await;
    assert_eq!(is_in_view, true);
    browser
        .evaluates("log.scrollTop = 0; drawn(() => true)")
        .await;
    browser
        .evaluates("log.querySelector('.message:last-child').style.minHeight = '1200px'")
        .await;
    let is_left_alone = browser.evaluates("drawn(() => log.scrollTop === 0)").await;
    assert_eq!(is_left_alone, true);
}

/// The bot's answer comes by another way than the answer to the request that asked for it, and may come first.
#[tokio::test]
async fn suggestions_that_come_before_their_request_returns_are_shown() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    notes_answers(&mut browser).await;
    holds_back(&mut browser, "/api/act").await;
    browser.clicks("#composer-text", "").await;
    browser.types("/agent config").await;
    browser.clicks("[role=option]", "/agent config").await;
    browser.clicks("#option-key", "").await;
    browser.types("idle").await;
    browser
        .sees(r#"document.body.dataset.answer === '{"choices":[{"name":"idle_timeout","value":"idle_timeout"}]}'"#)
        .await;
    browser.evaluates("lets_go()").await;
    browser
        .sees("[...document.querySelectorAll('.choices:not([hidden]) li')].some((one) => one.innerText === 'idle_timeout')")
        .await;
}

#[tokio::test]
async fn a_form_that_comes_before_its_request_returns_opens() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    browser.clicks("#composer-text", "").await;
    browser.types("/agent config").await;
    browser.clicks("[role=option]", "/agent config").await;
    browser.types("helper").await;
    browser.clicks("#option-key", "").await;
    browser.types("system_prompt").await;
    browser.clicks(".composer .press", "Run").await;
    browser.sees("[...document.querySelectorAll('.message .press')].some((one) => one.innerText === 'Edit')").await;
    notes_answers(&mut browser).await;
    holds_back(&mut browser, "/api/act").await;
    browser.clicks(".message .press", "Edit").await;
    browser
        .sees("document.body.dataset.answer?.includes('components')")
        .await;
    browser.evaluates("lets_go()").await;
    browser
        .sees("document.querySelector('dialog[open] textarea')")
        .await;
}

/// A message may name a channel before the page has heard of it.
#[tokio::test]
async fn a_channel_is_named_as_soon_as_it_is_known() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    browser.clicks("#composer-text", "").await;
    browser.types("/agent init").await;
    browser.clicks("[role=option]", "/agent init").await;
    holds_back(&mut browser, "/api/state").await;
    browser.types("helper").await;
    browser.clicks(".composer .press", "Run").await;
    browser.reads("Agent helper is ready: #gone").await;
    browser.evaluates("lets_go()").await;
    browser.reads("Agent helper is ready: #helper").await;
}

/// What was asked for before a press and arrives in the middle of it does not take the button away either.
#[tokio::test]
async fn a_press_is_a_click_while_an_answer_arrives() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    holds_back(&mut browser, "/api/state").await;
    browser
        .evaluates("real('/api/state').then((one) => one.json()).then((all) => acts({ as: me, do: 'add_channel', server: all.servers[0].id, name: 'third' }))")
        .await;
    browser.sees("document.body.dataset.held").await;
    let place = browser.presses_on(".channel", "other").await;
    // All that follows the answer's arrival is done before the second timer.
    browser
        .evaluates("(async () => { lets_go(); for (const _ of [1, 2]) await new Promise((done) => setTimeout(done)); })()")
        .await;
    browser.releases(place).await;
    browser
        .sees("document.querySelector('#title').innerText.includes('other')")
        .await;
    browser.sees("[...document.querySelectorAll('.channel')].some((one) => one.innerText.includes('third'))").await;
}

#[tokio::test]
async fn it_is_used_by_keys_alone() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    browser.clicks("#composer-text", "").await;
    browser.types("hello").await;
    browser.presses_enter().await;
    browser
        .sees("!document.querySelector('#composer-text').value")
        .await;

    browser.presses_key("ArrowUp", 0).await;
    browser.sees("document.querySelector('#composer-text').value === 'hello' && document.querySelector('.composing:not([hidden])')").await;
    browser.presses_key("Escape", 0).await;

    // One press leads back from the message box to the messages, and the arrows through them.
    browser.presses_key("Tab", SHIFT).await;
    browser.presses_key("Tab", SHIFT).await;
    browser
        .sees("document.activeElement.closest('#messages')")
        .await;
    browser
        .evaluates("document.querySelector('#messages').focus()")
        .await;
    browser.presses_key("ArrowUp", 0).await;
    browser
        .sees("document.activeElement.matches('.message') && document.activeElement.querySelector('.toolbar button').tabIndex === 0")
        .await;

    browser.presses_key("k", CONTROL).await;
    browser
        .sees("document.querySelector('dialog[open] [role=combobox]') === document.activeElement")
        .await;
    browser.types("gen").await;
    browser.presses_enter().await;
    browser
        .sees("document.querySelector('#title').innerText.includes('general')")
        .await;
}

/// Until it is known what was said in a channel, what was said in the one before it offers no next step.
#[tokio::test]
async fn the_next_step_is_that_of_the_channel_one_is_in() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    browser.clicks("#composer-text", "").await;
    browser.types("/agent init").await;
    browser.clicks("[role=option]", "/agent init").await;
    browser.types("helper").await;
    browser.clicks(".composer .press", "Run").await;
    browser.reads("Agent helper is ready: #helper").await;
    holds_back(&mut browser, "/api/channels").await;
    browser.clicks(".channel", "helper").await;
    browser.sees("document.body.dataset.held").await;
    let is_hidden = "document.querySelector('#guide').hidden";
    assert_eq!(browser.evaluates(is_hidden).await, true);
    browser.evaluates("lets_go()").await;
    browser
        .sees("document.querySelector('#guide:not([hidden])')?.innerText.includes('Try one of these')")
        .await;
}

/// Alt with an arrow goes to the next channel, as in Discord.
#[tokio::test]
async fn alt_with_an_arrow_goes_from_channel_to_channel() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser.clicks("#composer-text", "").await;
    for (key, channel) in [("ArrowDown", "other"), ("ArrowUp", "general")] {
        browser.presses_key(key, ALT).await;
        browser
            .sees(&format!(
                "document.querySelector('#title').innerText.includes('{channel}')"
            ))
            .await;
    }
}

/// What is said, what can be typed and what is offered has its role and its name.
#[tokio::test]
async fn a_screen_reader_is_told_what_is_what() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    let heard = browser.hears().await;
    for words in [
        "log: Messages",
        "textbox: Message #helper",
        "navigation: Servers",
    ] {
        assert!(heard.iter().any(|one| one == words), "{words}: {heard:#?}");
    }
    browser.clicks("#composer-text", "").await;
    browser.types("/agent config").await;
    browser
        .sees("document.querySelector('#composer-text').getAttribute('aria-activedescendant')")
        .await;
    let heard = browser.hears().await;
    assert!(
        heard.contains(&"listbox: Commands".to_owned()),
        "{heard:#?}"
    );
    browser.clicks("[role=option]", "/agent config").await;
    browser
        .sees("document.querySelector('#option-name-choices:not([hidden]) li')")
        .await;
    let heard = browser.hears().await;
    for words in [
        "combobox: name",
        "listbox: Values for name",
        "option: helper",
    ] {
        assert!(
            heard.iter().any(|one| one.starts_with(words)),
            "{words}: {heard:#?}"
        );
    }
    let is_open = |one: &String| one.starts_with("combobox: name") && one.ends_with("(expanded)");
    assert!(heard.iter().any(is_open), "{heard:#?}");
}

const ALT: u8 = 1;
const CONTROL: u8 = 2;
const SHIFT: u8 = 8;

/// axe-core; none where npm did not fetch it.
pub(super) fn axe() -> Option<String> {
    referee::fetched("axe-core/axe.min.js")
}

pub(super) async fn breaks_no_rule(browser: &mut Browser, state: &str) {
    let found = browser
        .evaluates(
            "axe.run(document).then((found) => found.violations.map((one) =>
                `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(', ')}`))",
        )
        .await;
    assert_eq!(found, serde_json::json!([]), "{state}");
}

#[tokio::test]
async fn no_state_of_it_breaks_a_rule_of_accessibility() {
    let Some(axe) = axe() else {
        return;
    };
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    browser.evaluates(&format!("{axe}; undefined")).await;
    browser.clicks("#composer-text", "").await;
    browser
        .types("run echo a-command-of-one-very-long-word-that-no-line-of-a-phone-would-hold && ssh web1 'sudo systemctl restart app'")
        .await;
    browser.presses_enter().await;
    browser
        .sees("[...document.querySelectorAll('.press')].some((one) => one.innerText === 'Allow')")
        .await;
    for (screen, light, name) in [
        (Screen::Desktop, Light::Dark, "desktop, dark"),
        (Screen::Desktop, Light::Bright, "desktop, light"),
        (Screen::Phone, Light::Dark, "phone, dark"),
        (Screen::Phone, Light::Bright, "phone, light"),
    ] {
        browser.screen(screen, light).await;
        breaks_no_rule(&mut browser, name).await;
        let hidden = "[...document.querySelectorAll('.code pre')].filter((one) => one.scrollWidth > one.clientWidth).length";
        assert_eq!(
            browser.evaluates(hidden).await,
            0,
            "{name}: a command is shown whole"
        );
        let covered = "[...document.querySelectorAll('.code')].filter((box) => {
            const text = document.createRange();
            text.selectNodeContents(box.querySelector('code'));
            const above = [...box.children].filter((one) => one.tagName !== 'PRE').map((one) => one.getBoundingClientRect());
            return [...text.getClientRects()].some((a) => above.some((b) =>
                a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
        }).length";
        assert_eq!(
            browser.evaluates(covered).await,
            0,
            "{name}: nothing stands over a command"
        );
    }
    browser.clicks("#composer-text", "").await;
    browser.types("/").await;
    browser
        .sees("document.querySelector('.suggestions:not([hidden]) li')")
        .await;
    breaks_no_rule(&mut browser, "commands offered").await;
    browser.types("agent config").await;
    browser.clicks("[role=option]", "/agent config").await;
    browser
        .sees("document.querySelector('.choices:not([hidden]) li')")
        .await;
    breaks_no_rule(&mut browser, "values offered").await;
}
