//! Models on one's own machine: which are there, what they can do, and that they answer.

mod llama;
pub(crate) mod ollama;

use serde_json::{Value, json};

use super::wire::{Format, Wire, events};
use crate::world::{Lab, Setup, World, run_test_with};
use llama::{Llama, Tools};
use ollama::Ollama;

/// A daemon with no vendor's key, and the server of one's own at `base_url`.
fn at(base_url: String) -> Setup {
    Setup {
        config: json!({"default_model": null}),
        lab: Lab::Missing,
        env: vec![
            ("ANTHROPIC_API_KEY", String::new()),
            ("ANTHROPIC_BASE_URL", String::new()),
            ("OPENAI_BASE_URL", base_url),
        ],
        ..Setup::default()
    }
}

fn known(world: &World) -> Value {
    let text = std::fs::read_to_string(world.home().join("available_models.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn the_first_listed_model_of_a_foreign_server_answers() {
    let ollama = Ollama::start().await;
    run_test_with(at(ollama.base_url()), async |world| {
        world.ann.asks("/settings validate-keys", "#general").await;
        let shown = world.ann.asks("/models", "#general").await;
        assert!(shown.contains("openai (3)"), "{shown}");
        assert!(
            shown.contains("Default: openai/qwen3:8b (chosen: first available)"),
            "{shown}"
        );
        world.makes_agent("lab").await;
        ollama.says("Good morning.");
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Good morning.").await;
        let asked = ollama.asked().pop().unwrap();
        assert_eq!(asked["model"], "qwen3:8b");
        assert!(asked["tools"].is_array());
        // A server of this machine that takes no key sends no bill.
        let cost = "SELECT printf('%.2f', cost_usd) FROM attempts WHERE kind = 'model'";
        assert_eq!(world.ledger(cost).await, ["0.00"]);
        // What the server says of its models: the window it runs them with, then the one it was told, then the longest.
        let told = &known(world)["providers"]["openai"]["abilities"];
        assert_eq!(told["qwen3:8b"]["window"], 16_384);
        assert_eq!(told["gemma3:4b"]["window"], 131_072);
        assert_eq!(told["gemma3:4b"]["tools"], false);
        assert_eq!(told["gemma3:4b"]["images"], true);
    })
    .await;
}

#[tokio::test]
async fn a_model_without_tools_calls_them_in_its_text() {
    let ollama = Ollama::start().await;
    run_test_with(at(ollama.base_url()), async |world| {
        world.ann.runs("/agent init name:lab model:openai/gemma3:4b", "#general").await;
        world
            .waits("#lab", |world| world.discord.channel("#lab"))
            .await;
        ollama.says("I will write it.\n<tool_call>\n{\"name\": \"create_file\", \"arguments\": {\"path\": \"a.txt\", \"content\": \"one\"}}\n</tool_call>");
        ollama.says("It is written.");
        world.ann.says("#lab", "write a.txt").await;
        let shown = world.sees("#lab", "It is written.").await;
        assert!(!shown.contains("tool_call"), "{shown}");
        let file = std::fs::read_to_string(world.workspace("lab").join("a.txt")).unwrap();
        assert_eq!(file, "one");
        let asked = ollama.asked();
        assert!(asked.iter().all(|request| request.get("tools").is_none()));
        let last = asked.last().unwrap()["messages"].as_array().unwrap();
        assert!(last.iter().all(|message| message["role"] != "tool"));
        let result = last.last().unwrap()["content"].to_string();
        assert!(result.contains("<tool_result name=\\\"create_file\\\""), "{result}");
    })
    .await;
}

/// Ollama chooses the window when it loads a model, and cuts longer requests without a word. What the model was trained for is
/// believed until its first answer and no longer.
#[tokio::test]
async fn the_window_that_a_model_was_loaded_with_is_known_from_its_first_answer_on() {
    let ollama = Ollama::start().await;
    ollama.loads_with(2_048);
    run_test_with(at(ollama.base_url()), async |world| {
        world
            .ann
            .runs("/agent init name:lab model:openai/llama3.1:8b", "#general")
            .await;
        world
            .waits("#lab", |world| world.discord.channel("#lab"))
            .await;
        ollama.says("Good morning.");
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Good morning.").await;
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("of 2,048 tokens"), "{status}");

        world.ann.says("#lab", "write a file").await;
        let shown = world.sees("#lab", "does not fit the model's context window").await;
        let why = "`openai/llama3.1:8b` has a window of 2,048 tokens, but the system prompt and the tools need ";
        assert!(shown.contains(why), "{shown}");

        ollama.loads_with(32_768);
        world.ann.asks("/settings validate-keys", "#general").await;
        ollama.says("Now I have room.");
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "Now I have room.").await;
        assert!(ollama.asked().pop().unwrap().get("tools").is_some());
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("of 32,768 tokens"), "{status}");
    })
    .await;
}

/// A model that two servers have answers at the one that was chosen, wherever it is chosen.
#[tokio::test]
async fn a_choice_of_a_model_is_one_of_its_server_too() {
    let text = events(&Format::OpenAiChat.fixture("text"));
    let ollama = Wire::start_with_models(vec![text.clone()], &["qwen3:8b"]).await;
    let vllm = Wire::start_with_models(vec![text], &["qwen3:8b"]).await;
    let setup = Setup {
        config: json!({"providers": {
            "ollama": {"base_url": format!("{}/v1", ollama.base_url())},
            "vllm": {"base_url": format!("{}/v1", vllm.base_url())},
        }}),
        lab: Lab::Missing,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.ann.asks("/settings validate-keys", "#general").await;
        world
            .ann
            .asks("/settings model model:vllm/qwen3:8b", "#general")
            .await;
        let shown = world.ann.asks("/settings show", "#general").await;
        assert!(shown.contains("vllm/qwen3:8b"), "{shown}");
        let offered = world
            .ann
            .completes("/settings model model:qwen", "model", "#general")
            .await;
        assert_eq!(offered, ["ollama/qwen3:8b", "vllm/qwen3:8b"]);
        world.makes_agent("lab").await;
        world.ann.says("#lab", "hello").await;
        vllm.is_asked().await;
        assert_eq!(ollama.requests().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_model_that_no_list_has_is_tried_before_it_is_refused() {
    let ollama = Ollama::start().await;
    ollama.has_unlisted("private:7b");
    run_test_with(at(ollama.base_url()), async |world| {
        world.makes_agent("lab").await;
        let set = async |world: &World, model: &str| {
            let command = format!("/agent config name:lab key:model value:{model}");
            world.ann.asks(&command, "#general").await
        };
        let answer = set(world, "openai/private:8b").await;
        assert!(
            answer.contains("There is no model `openai/private:8b`"),
            "{answer}"
        );
        let answer = set(world, "openai/private:7b").await;
        assert!(answer.contains("is now `openai/private:7b`"), "{answer}");
        ollama.says("Here.");
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Here.").await;
        assert_eq!(ollama.asked().pop().unwrap()["model"], "private:7b");
        // A later list does not take it away.
        world.ann.asks("/settings validate-keys", "#general").await;
        ollama.says("Still here.");
        world.ann.says("#lab", "hello again").await;
        world.sees("#lab", "Still here.").await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_started_later_is_found_by_the_next_message() {
    let place = Ollama::reserve().await;
    run_test_with(at(place.base_url()), async |world| {
        world.makes_agent("lab").await;
        world.ann.says("#lab", "hello").await;
        let shown = world.sees("#lab", "no provider lists a model").await;
        assert!(shown.contains("refused"), "{shown}");
        let shown = world.ann.asks("/models", "#general").await;
        assert!(shown.contains("cannot be reached"), "{shown}");
        let ollama = place.starts().await;
        ollama.says("Now I am here.");
        world.ann.says("#lab", "hello?").await;
        world.sees("#lab", "Now I am here.").await;
    })
    .await;
}

#[tokio::test]
async fn llama_cpp_answers_and_calls_a_tool() {
    let Some(llama) = Llama::start(100_000, Tools::Taken).await else {
        return;
    };
    run_test_with(at(llama.base_url()), async |world| {
        world.makes_agent("lab").await;
        world.ann.says("#lab", "hello").await;
        world
            .sees("#lab", "Hello from a model on this machine.")
            .await;
        world.ann.says("#lab", "list my tasks").await;
        world
            .waits("both answers", |world| {
                let shown = world.transcript("#lab");
                (shown.matches("Hello from a model").count() == 2).then_some(())
            })
            .await;
        assert!(!world.transcript("#lab").contains("tool_call"));
        let known = known(world);
        let told = known["providers"]["openai"]["abilities"].as_object();
        let told = told.unwrap().values().next().unwrap();
        assert_eq!(told["window"], 100_096, "{known}");
    })
    .await;
}

/// The same where the server was started so that it takes no tools: the refusal is its own.
#[tokio::test]
async fn llama_cpp_that_takes_no_tools_is_told_of_them_in_words() {
    let Some(llama) = Llama::start(100_000, Tools::Refused).await else {
        return;
    };
    run_test_with(at(llama.base_url()), async |world| {
        world.makes_agent("lab").await;
        world.ann.says("#lab", "hello").await;
        world
            .sees("#lab", "Hello from a model on this machine.")
            .await;
    })
    .await;
}
