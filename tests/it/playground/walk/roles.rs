//! A task that is handed to two roles, and roles around a turn.

use serde_json::{Value, json};

use super::chromium::{Browser, Light, Screen};
use super::{at_the_desk, makes_agent, picture};

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
    shows_the_run(&mut browser).await;
    assert!(program.workspace("helper").join("a.txt").exists());
}

#[tokio::test]
async fn advisors_are_asked_and_an_answer_passes_a_role() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    says(&mut browser, "ask my advisors").await;
    browser.reads("I have no advisors yet.").await;
    let file = program.workspace("helper").with_file_name("agent.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["advisors"] = json!(["explore", "general"]);
    config["handoff"] = json!("general");
    std::fs::write(&file, config.to_string()).unwrap();
    says(&mut browser, "Ask my advisors!").await;
    browser
        .reads("My advisors told me, before I read your message:")
        .await;
    browser
        .reads("check what you cannot undo before you do it.")
        .await;
    browser.reads("Checked by the demo model.").await;
    browser.reads("of it 3 sub-agents").await;
    browser.clicks("#composer-text", "").await;
    browser.types("/run show").await;
    browser.clicks("[role=option]", "/run show").await;
    browser.clicks(".composer .press", "Run").await;
    browser.reads("├ advisor explore").await;
    browser.reads("└ handoff general").await;
}

/// Writes a message and sends it.
async fn says(browser: &mut Browser, words: &str) {
    browser.clicks("#composer-text", "").await;
    browser.types(words).await;
    browser.presses_enter().await;
}

/// Looks at the run as text and as a picture, on a desktop and on a phone.
async fn shows_the_run(browser: &mut Browser) {
    browser.clicks("#composer-text", "").await;
    browser.types("/run show").await;
    browser.clicks("[role=option]", "/run show").await;
    browser.clicks(".composer .press", "Run").await;
    browser.reads("└ sub_agent explore").await;
    browser.clicks("#composer-text", "").await;
    browser.types("/run show").await;
    browser.clicks("[role=option]", "/run show").await;
    browser.clicks(".chip", "format").await;
    browser
        .sees(
            "(() => { const all = document.querySelector('#option-format');
             all.value = [...all.options].find((one) => one.text === 'picture').value;
             all.dispatchEvent(new Event('change', { bubbles: true })); return true; })()",
        )
        .await;
    browser.clicks(".composer .press", "Run").await;
    browser
        .sees("[...document.images].some((one) => one.naturalWidth === 1600)")
        .await;
    for (screen, light, name) in [
        (Screen::Phone, Light::Bright, "run-phone.png"),
        (Screen::Desktop, Light::Dark, "run-desktop.png"),
    ] {
        browser.screen(screen, light).await;
        browser
            .evaluates("document.querySelector('#messages').scrollTop = 1e9")
            .await;
        browser.photographs(&picture(name)).await;
    }
}
