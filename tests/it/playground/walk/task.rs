//! One task from the question to a conversation that is cleared and taken back, as the README shows it.

use super::{at_the_desk, makes_agent, picture};
use crate::playground::walk::chromium::Browser;

/// Runs a command that needs no option.
async fn runs(browser: &mut Browser, command: &str) {
    browser.clicks("#composer-text", "").await;
    browser.types(command).await;
    browser.clicks("[role=option]", command).await;
    browser.clicks(".composer .press", "Run").await;
}

/// A picture of the newest messages.
async fn photographs(browser: &mut Browser, name: &str) {
    browser
        .evaluates("document.querySelector('#messages').scrollTop = 1e9")
        .await;
    browser.photographs(&picture(name)).await;
}

#[tokio::test]
async fn a_task_is_asked_about_done_cleared_and_taken_back() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;

    browser.clicks("#composer-text", "").await;
    browser
        .types(
            "create a file count.sh with ls -1 | wc -l, then run sh count.sh && git log --oneline",
        )
        .await;
    browser.presses_enter().await;
    browser
        .sees("[...document.querySelectorAll('.press')].some((one) => one.innerText === 'Allow' && !one.disabled) && document.querySelector('.code .hljs-built_in')")
        .await;
    photographs(&mut browser, "task-question.png").await;

    browser.clicks(".press", "Allow").await;
    browser.reads("Done, in 2 steps.").await;
    browser
        .sees("![...document.querySelectorAll('.press')].some((one) => one.innerText === 'Stop' && !one.disabled)")
        .await;
    photographs(&mut browser, "task-answer.png").await;
    assert!(program.workspace("helper").join("count.sh").exists());

    runs(&mut browser, "/context clear").await;
    browser
        .sees("[...document.querySelectorAll('.message .press')].some((one) => one.innerText === 'Undo')")
        .await;
    photographs(&mut browser, "task-cleared.png").await;
    browser.clicks(".message .press", "Undo").await;
    browser.reads("Context restored").await;
    photographs(&mut browser, "task-restored.png").await;
}

#[tokio::test]
async fn a_task_is_handed_to_two_roles_and_what_they_report_is_read() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    browser.clicks("#composer-text", "").await;
    browser
        .types("create a file a.txt with one TODO, then delegate to general: list files and to explore: find TODO")
        .await;
    browser.presses_enter().await;
    browser.reads("Done, in 3 steps.").await;
    browser.reads("[explore · ").await;
    browser.reads("of it 2 sub-agents").await;
    assert!(program.workspace("helper").join("a.txt").exists());
}
