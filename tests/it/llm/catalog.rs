//! What is known of models, and what they cost.

use std::collections::BTreeMap;

use chorus::config::Config;
use chorus::domain::{Cost, Usage};
use chorus::llm::catalog::{Catalog, Price};
use chorus::llm::{Target, catalog};

fn facts(provider: &str, model: &str) -> catalog::ModelFacts {
    Catalog::default().facts(&Target::new(provider, model))
}

fn usd(cost: Cost) -> f64 {
    match cost {
        Cost::Usd(sum) => sum,
        Cost::Unknown => panic!("the price is known"),
    }
}

#[test]
fn the_table_is_dated_and_whole() {
    assert!(chrono::NaiveDate::parse_from_str(Catalog::date(), "%Y-%m-%d").is_ok());
    let sonnet = facts("anthropic", "claude-sonnet-4-6");
    assert_eq!((sonnet.window, sonnet.max_output), (1_000_000, 64_000));
    assert!(
        sonnet.images
            && sonnet.tools
            && sonnet.thinking
            && sonnet.web_search
            && sonnet.known
            && !sonnet.responses
    );
    assert!(facts("openai", "o3-pro").responses);
    assert!(!facts("openai", "gpt-4o").responses);
}

#[test]
fn a_dated_name_is_its_model_and_a_longer_name_is_not_a_shorter_one() {
    assert_eq!(
        facts("openai", "gpt-4.1-2025-04-14").window,
        facts("openai", "gpt-4.1").window
    );
    assert_eq!(facts("openai", "gpt-4.1").window, 1_047_576);
    assert_eq!(facts("openai", "gpt-4").window, 8_192);
    assert_eq!(
        facts("anthropic", "claude-haiku-4-5@20251001").window,
        200_000
    );
    assert!(!facts("openai", "gpt-4-something-else").known);
}

#[test]
fn an_unknown_model_works_and_its_price_is_unknown_not_nothing() {
    for model in [
        "llama3.2:latest",
        "",
        "ü-2025-01-01",
        "-20250101",
        "é20250101",
    ] {
        let unknown = facts("ollama", model);
        assert_eq!(
            (unknown.window, unknown.price, unknown.known),
            (128_000, None, false),
            "{model:?}"
        );
        assert!(unknown.tools && !unknown.images);
        let cost = Catalog::default().cost(
            &Target::new("ollama", model),
            Usage {
                input: 5,
                ..Usage::default()
            },
        );
        assert_eq!(cost, Cost::Unknown);
    }
}

/// Somebody else who serves a maker's model has its window, and prices of their own.
#[test]
fn a_model_served_by_others_keeps_its_abilities_and_not_its_price() {
    let served = facts("my-gateway", "anthropic/claude-sonnet-4-6");
    assert_eq!(served.window, 1_000_000);
    assert_eq!(served.price, None);
}

#[test]
fn every_shortcut_is_a_model_of_the_table() {
    let names: Vec<&str> = Catalog::shortcuts()
        .iter()
        .map(|shortcut| shortcut.name.as_str())
        .collect();
    let expected = [
        "haiku",
        "sonnet",
        "opus",
        "gpt-4-1-nano",
        "gpt-5-nano",
        "gpt-5",
        "gpt-5-pro",
        "gpt-5-2-pro",
        "o3-pro",
        "o4-mini",
        "gemini-2-5-pro",
        "gemini-flash",
        "gemini-flash-lite",
    ];
    assert_eq!(names, expected);
    for shortcut in Catalog::shortcuts() {
        assert!(Catalog::maker_of(&shortcut.model).is_some(), "{shortcut:?}");
    }
    assert_eq!(Catalog::shortcuts()[0].model, "claude-haiku-4-5-20251001");
    assert_eq!(Catalog::shortcuts()[2].display, "Opus");
}

#[test]
fn cost_counts_each_kind_of_token_at_its_price() {
    let usage = Usage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 2_000_000,
        cache_write: 1_000_000,
    };
    let price = Price {
        input: 3.0,
        output: 15.0,
        cache_read: Some(0.3),
        cache_write: Some(3.75),
        long: None,
    };
    assert!((price.of(usage) - (3.0 + 1.5 + 0.6 + 3.75)).abs() < 1e-9);
    let plain = Price {
        cache_read: None,
        cache_write: None,
        ..price
    };
    assert!((plain.of(usage) - (3.0 + 1.5 + 6.0 + 3.0)).abs() < 1e-9);
    assert_eq!(price.of(Usage::default()), 0.0);
    assert!(price.at_worst(1_000_000, 0) >= 3.75);
}

#[test]
fn long_requests_cost_what_long_requests_cost() {
    let sonnet = Target::new("anthropic", "claude-sonnet-4-5");
    let of = |input| {
        usd(Catalog::default().cost(
            &sonnet,
            Usage {
                input,
                ..Usage::default()
            },
        ))
    };
    assert!((of(200_000) - 0.6).abs() < 1e-9);
    assert!((of(200_001) - 1.200_006).abs() < 1e-9);
}

#[test]
fn the_configuration_stands_above_the_table() {
    let config: Config = serde_json::from_value(serde_json::json!({"models": {
        "gpt-4o": {"window": 4000},
        "ollama/llama3.2": {"window": 8000, "max_output": 1000, "input_price": 0, "output_price": 0, "images": true},
        "half": {"input_price": 1},
    }}))
    .unwrap();
    let catalog = Catalog::new(config.models);
    let small = catalog.facts(&Target::new("openai", "gpt-4o"));
    assert_eq!((small.window, small.max_output), (4_000, 2_000));
    assert!(small.price.is_some());
    let local = Target::new("ollama", "llama3.2");
    assert_eq!(catalog.facts(&local).max_output, 1_000);
    assert!(catalog.facts(&local).images);
    assert_eq!(
        catalog.cost(
            &local,
            Usage {
                input: 9,
                ..Usage::default()
            }
        ),
        Cost::Usd(0.0)
    );
    assert_eq!(
        catalog.facts(&Target::new("other", "llama3.2")).window,
        128_000
    );
    assert_eq!(catalog.facts(&Target::new("x", "half")).price, None);
    assert_eq!(
        Catalog::new(BTreeMap::new())
            .facts(&Target::new("openai", "gpt-4o"))
            .window,
        128_000
    );
}

/// Each server has its own words for how much it takes.
#[test]
fn a_window_learned_is_the_smaller_one() {
    let catalog = Catalog::default();
    let target = Target::new("local", "nobody-knows");
    assert_eq!(catalog.facts(&target).window, 128_000);
    catalog.learn_window(&target, 4_096);
    catalog.learn_window(&target, 8_192);
    catalog.learn_window(&target, 7);
    assert_eq!(catalog.facts(&target).window, 4_096);
    assert_eq!(catalog.facts(&target).max_output, 2_048);
}
