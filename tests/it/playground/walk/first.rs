//! The first minute of somebody who has never used Discord: led by buttons, then with a real model.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::page::{axe, breaks_no_rule};
use super::{Program, at_the_desk, makes_agent};
use crate::llm::local_models::ollama::Ollama;
use crate::not_run::{Missing, not_run};
use crate::playground::walk::chromium::Browser;
use crate::world::model::{KEY, Model};

/// What the page offers as the next step.
async fn is_offered(browser: &mut Browser, words: &str) {
    let words = json!(words);
    browser
        .sees(&format!(
            "document.querySelector('#guide:not([hidden])')?.innerText.includes({words})"
        ))
        .await;
}

/// Has axe-core on the page, where it is there.
async fn looks(browser: &mut Browser) -> bool {
    let Some(axe) = axe() else {
        return false;
    };
    browser.evaluates(&format!("{axe}; undefined")).await;
    true
}

#[tokio::test]
async fn buttons_lead_to_the_first_result() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    let judged = looks(&mut browser).await;
    is_offered(&mut browser, "Make your first agent").await;
    if judged {
        breaks_no_rule(&mut browser, "first step").await;
    }
    // Who writes where nobody lives is told so, and the way does not go away.
    browser.clicks("#composer-text", "").await;
    browser.types("hello").await;
    browser.presses_enter().await;
    is_offered(&mut browser, "No agent lives in #general").await;

    browser
        .clicks("#guide .press", "Make your first agent")
        .await;
    browser
        .sees("document.querySelector('#option-name')?.value === 'lab'")
        .await;
    browser.clicks(".composer .press", "Run").await;
    browser.clicks(".channel", "lab").await;
    is_offered(&mut browser, "Try one of these").await;
    if judged {
        breaks_no_rule(&mut browser, "example tasks").await;
    }
    browser
        .clicks("#guide .chip", "Create a file hello.txt")
        .await;
    browser.reads("Done.").await;
    let hello = std::fs::read_to_string(program.workspace("lab").join("hello.txt")).unwrap();
    assert_eq!(hello, "Hello, world\n");
    browser
        .sees("document.querySelector('#guide').hidden")
        .await;

    browser.clicks(".channel", "general").await;
    browser.clicks("#composer-text", "").await;
    browser.types("anybody?").await;
    browser.presses_enter().await;
    is_offered(&mut browser, "so nobody answers here").await;
    browser.clicks("#guide .chip", "Go to #lab").await;
    browser
        .sees("document.querySelector('#title').innerText.includes('lab')")
        .await;
}

#[tokio::test]
async fn what_is_typed_behind_a_command_is_kept() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    browser.clicks("#composer-text", "").await;
    browser
        .types("/agent init name:lab system_prompt:You are brief.")
        .await;
    // The bot may still be telling which commands it has.
    browser
        .sees("document.querySelector('.suggestions:not([hidden]) [aria-selected=true]')")
        .await;
    browser.presses_enter().await;
    browser
        .sees("document.querySelector('#option-name')?.value === 'lab' && document.querySelector('#option-system_prompt')?.value === 'You are brief.'")
        .await;
    browser.clicks(".composer .press", "Run").await;
    browser.clicks(".channel", "lab").await;
    browser.reads("You are brief.").await;
    browser
        .sees("[...document.querySelectorAll('.source')].every((one) => !one.innerText.includes('used a command'))")
        .await;
}

/// The whole way from the demo to a model of one's own: no restart, no edit.
#[tokio::test]
async fn a_model_server_of_this_machine_takes_over_from_the_demo() {
    let Ok(listener) = TcpListener::bind("127.0.0.1:11434").await else {
        not_run(&Missing::Machine(
            "port 11434 is taken, perhaps by a real Ollama",
        ));
        return;
    };
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    let ollama = Ollama::at(listener);
    ollama.says("Good morning from your own machine.");
    browser.reads("a small script, not an AI").await;
    browser.clicks("#banner .press", "Use a real model").await;
    browser
        .sees("document.querySelector('dialog[open] .models')?.innerText.includes('qwen3:8b')")
        .await;
    if looks(&mut browser).await {
        breaks_no_rule(&mut browser, "models offered").await;
    }
    browser.clicks("dialog .press", "Use Ollama").await;
    browser
        .sees("document.querySelector('.toast.done')?.innerText.includes('Ollama answers')")
        .await;
    browser
        .sees("document.querySelector('#banner').hidden")
        .await;
    browser.clicks("#composer-text", "").await;
    browser.types("good morning").await;
    browser.presses_enter().await;
    browser.reads("Good morning from your own machine.").await;
    let home = program.home.path();
    let config: Value =
        serde_json::from_str(&std::fs::read_to_string(home.join("config.json")).unwrap()).unwrap();
    assert_eq!(config, json!({"providers": {"ollama": {}}}));
    let agent = std::fs::read_to_string(home.join("agents/helper/agent.json")).unwrap();
    assert!(!agent.contains("demo"), "{agent}");
}

#[tokio::test]
async fn what_is_not_a_key_is_not_kept() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    browser.clicks("#banner .press", "Use a real model").await;
    browser.clicks("#model-key", "").await;
    browser.types("not a key").await;
    browser.clicks("dialog .press", "Use this key").await;
    browser.reads("this is not a key").await;
    assert!(!program.home.path().join(".env").exists());
    let _: &Program = &program;
}

/// The whole way from the demo to a key: tried, kept for its owner alone, used by the agent that is there.
#[tokio::test]
async fn a_key_takes_over_from_the_demo() {
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    browser.clicks("#banner .press", "Use a real model").await;
    browser
        .sees("document.querySelector('#model-vendor')?.value === 'anthropic'")
        .await;
    // No vendor can be reached from a test: its address is another one from now on.
    let model = Model::start().await;
    model.lists(&["claude-first"]);
    model.answers("Good morning from a real model.");
    let home = program.home.path();
    let dotenv = home.join(".env");
    let address = format!("ANTHROPIC_BASE_URL='{}'\n", model.base_url());
    std::fs::write(&dotenv, &address).unwrap();

    browser.clicks("#model-key", "").await;
    browser.types("sk-wrong").await;
    browser.clicks("dialog .press", "Use this key").await;
    browser.reads("does not accept this key").await;
    assert_eq!(std::fs::read_to_string(&dotenv).unwrap(), address);
    browser
        .evaluates("document.querySelector('#model-key').value = ''")
        .await;
    browser.clicks("#model-key", "").await;
    browser.types(KEY).await;
    browser.clicks("dialog .press", "Use this key").await;
    browser
        .sees("document.querySelector('.toast.done')?.innerText.includes('Anthropic (Claude) answers from now on.')")
        .await;
    browser
        .sees("document.querySelector('#banner').hidden")
        .await;
    browser.clicks("#composer-text", "").await;
    browser.types("good morning").await;
    browser.presses_enter().await;
    browser.reads("Good morning from a real model.").await;

    let kept = format!("{address}ANTHROPIC_API_KEY='{KEY}'\n");
    assert_eq!(std::fs::read_to_string(&dotenv).unwrap(), kept);
    let mode = std::fs::metadata(&dotenv).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!home.join("config.json").exists());
    let agent = std::fs::read_to_string(home.join("agents/helper/agent.json")).unwrap();
    assert!(!agent.contains("demo"), "{agent}");
}
