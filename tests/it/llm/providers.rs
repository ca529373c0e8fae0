//! From configuration and environment to providers.

use std::collections::HashMap;

use chorus::config::{Config, Env};
use chorus::llm::{Providers, ProvidersError};
use serde_json::{Value, json};

use super::conformance::request;
use super::history::said;
use super::wire::{Format, Wire, answer, events};

fn providers(config: Value, variables: &[(&str, &str)]) -> Result<Providers, ProvidersError> {
    let config: Config = serde_json::from_value(config).unwrap();
    let mut all: HashMap<String, String> = HashMap::from([("HOME".into(), "/nonexistent".into())]);
    all.extend(
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    Providers::from_config(&config, &Env::read(all, None).unwrap())
}

fn names(providers: &Providers) -> Vec<String> {
    providers.all().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_key_or_an_address_makes_a_provider() {
    assert!(providers(json!({}), &[]).unwrap().is_empty());
    let all = [
        ("ANTHROPIC_API_KEY", "a"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ("GEMINI_API_KEY", "g"),
    ];
    assert_eq!(
        names(&providers(json!({}), &all).unwrap()),
        ["anthropic", "gemini", "openai"]
    );
    let config = json!({"providers": {
        "ollama": {},
        "openrouter": {"models": ["x/y"]},
        "work": {"base_url": "https://llm.example.org/v1", "api_key_env": "WORK_KEY", "format": "anthropic"},
    }});
    let named = providers(config, &[("WORK_KEY", "w")]).unwrap();
    assert_eq!(names(&named), ["ollama", "openrouter", "work"]);
    assert_eq!(named.declared("openrouter"), ["x/y"]);
    assert!(named.declared("ollama").is_empty() && named.declared("nobody").is_empty());
}

#[test]
fn what_is_wrong_is_named_with_the_way_out() {
    let table = [
        (
            json!({"mine": {}}),
            "providers.mine: add base_url; only deepseek, groq, llamacpp, lmstudio, mistral, ollama, openrouter, vllm, xai are known by name alone",
        ),
        (
            json!({"a/b": {"base_url": "http://x"}}),
            "providers.\"a/b\": a provider's name is made of a-z, 0-9, '-', '_' and '.'",
        ),
        (
            json!({"mine": {"base_url": "file:///etc"}}),
            "providers.mine: base_url \"file:///etc\" is not an http or https address",
        ),
        (
            json!({"mine": {"base_url": "http://x", "api_key_env": "NOPE"}}),
            "providers.mine: the variable NOPE is not set; set it, or leave api_key_env out",
        ),
    ];
    for (config, expected) in table {
        let error = providers(json!({"providers": config}), &[]).expect_err("refused");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn each_is_asked_at_its_address_in_its_format_with_its_key() {
    let scripts = vec![answer(404, "", "{}")];
    let wire = Wire::start(scripts).await;
    let base = wire.base_url();
    let config = json!({"providers": {
        "compat": {"base_url": format!("{base}/compat/v1/"), "api_key_env": "COMPAT_KEY"},
        "resp": {"base_url": format!("{base}/resp"), "format": "openai_responses"},
        "gem": {"base_url": format!("{base}/gem"), "format": "gemini"},
    }});
    let variables = [
        ("ANTHROPIC_API_KEY", "a-key"),
        ("ANTHROPIC_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "o-key"),
        ("OPENAI_BASE_URL", &format!("{base}/v1")),
        ("COMPAT_KEY", "c-key"),
    ];
    let providers = providers(config, &variables).unwrap();
    for (_, provider) in providers.all() {
        let body = provider
            .encode(&request("some-model", vec![said("hi")]))
            .unwrap();
        provider
            .stream(&body, &mut |_: chorus::llm::Delta<'_>| {})
            .await
            .unwrap_err();
    }
    let heads: Vec<String> = wire
        .requests()
        .into_iter()
        .map(|asked| asked.head)
        .collect();
    let starts: Vec<&str> = heads
        .iter()
        .map(|head| head.split(" HTTP").next().unwrap())
        .collect();
    let expected = [
        "POST /v1/messages",
        "POST /compat/v1/chat/completions",
        "POST /gem/v1beta/models/some-model:streamGenerateContent?alt=sse",
        "POST /v1/chat/completions",
        "POST /resp/responses",
    ];
    assert_eq!(starts, expected);
    assert!(
        heads[0].contains("x-api-key: a-key") && heads[0].contains("anthropic-version: 2023-06-01")
    );
    assert!(heads[1].contains("authorization: Bearer c-key"));
    assert!(!heads[2].contains("key") && !heads[4].to_lowercase().contains("authorization"));
    assert!(heads[3].contains("authorization: Bearer o-key"));
}

#[tokio::test]
async fn an_address_of_anthropic_with_its_version_is_understood() {
    let wire = Wire::start(vec![events(&Format::Anthropic.fixture("text"))]).await;
    let providers = providers(
        json!({}),
        &[("ANTHROPIC_BASE_URL", &format!("{}/v1/", wire.base_url()))],
    )
    .unwrap();
    let provider = providers.get("anthropic").unwrap();
    let body = provider.encode(&request("m", vec![said("hi")])).unwrap();
    provider
        .stream(&body, &mut |_: chorus::llm::Delta<'_>| {})
        .await
        .unwrap();
    assert_eq!(wire.requests()[0].body["model"], "m");
    assert!(wire.requests()[0].head.starts_with("POST /v1/messages "));
}
