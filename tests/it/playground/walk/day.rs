//! A day in an agent's channel, as `docs/day.md` shows it: a task on code that is asked about, allowed, done and corrected, then a
//! conversation that is cleared and taken back.

use super::chromium::Browser;
use super::{at_the_desk, makes_agent, picture};

/// Asks for a function and its test, which fails.
const BEGIN: &str = "create a file add.sh with add() { echo $(($1 - $2)); }, then create a file test.sh with . ./add.sh; \
                     [ $(add 2 3) = 5 ] && echo passed || echo FAILED: 2 and 3 is $(add 2 3), \
                     then commit with message Add a sum and its test, then run sh test.sh";

/// Has the mistake corrected, and the test made again.
const CORRECT: &str = "replace $1 - $2 with $1 + $2 in add.sh, then run sh test.sh";

async fn says(browser: &mut Browser, text: &str) {
    browser.clicks("#composer-text", "").await;
    browser.types(text).await;
    browser.presses_enter().await;
}

/// Waits for a button that can be pressed.
async fn offers(browser: &mut Browser, label: &str) {
    browser
        .sees(&format!(
            "[...document.querySelectorAll('.press')].some((one) => one.innerText === '{label}' && !one.disabled)"
        ))
        .await;
}

/// Waits until nothing is at work.
async fn rests(browser: &mut Browser) {
    browser
        .sees("![...document.querySelectorAll('.press')].some((one) => one.innerText === 'Stop' && !one.disabled)")
        .await;
}

/// A picture of the newest messages.
async fn photographs(browser: &mut Browser, name: &str) {
    browser
        .evaluates("document.querySelector('#messages').scrollTop = 1e9")
        .await;
    browser.photographs(&picture(name)).await;
}

#[tokio::test]
async fn code_is_written_tested_and_corrected_and_a_cleared_conversation_is_taken_back() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;

    says(&mut browser, BEGIN).await;
    offers(&mut browser, "Allow").await;
    photographs(&mut browser, "day-1-question.png").await;
    browser.clicks(".press", "Allow").await;
    browser.reads("FAILED: 2 and 3 is -1").await;
    rests(&mut browser).await;
    photographs(&mut browser, "day-2-answer.png").await;

    says(&mut browser, CORRECT).await;
    offers(&mut browser, "Allow").await;
    browser.clicks(".press", "Always allow").await;
    offers(&mut browser, "Confirm").await;
    photographs(&mut browser, "day-3-always-allow.png").await;
    browser.clicks(".press", "Confirm").await;
    browser.reads("Always allowed").await;
    browser.reads("Done, in 2 steps.").await;
    rests(&mut browser).await;
    says(&mut browser, "show diff").await;
    browser.reads("diff --git").await;
    rests(&mut browser).await;
    photographs(&mut browser, "day-4-corrected.png").await;
    let add = std::fs::read_to_string(program.workspace("helper").join("add.sh")).unwrap();
    assert!(add.contains("$1 + $2"), "{add}");

    browser.clicks("#composer-text", "").await;
    browser.types("/context clear").await;
    browser.clicks("[role=option]", "/context clear").await;
    browser.clicks(".composer .press", "Run").await;
    browser
        .sees("[...document.querySelectorAll('.message .press')].some((one) => one.innerText === 'Undo')")
        .await;
    photographs(&mut browser, "day-5-cleared.png").await;
    browser.clicks(".message .press", "Undo").await;
    browser.reads("Context restored").await;
    browser
        .sees("![...document.querySelectorAll('.message .press')].some((one) => one.innerText === 'Undo')")
        .await;
    photographs(&mut browser, "day-6-restored.png").await;
}
