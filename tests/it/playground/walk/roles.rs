//! A task that is handed to two roles.

use super::{at_the_desk, makes_agent};

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
