//! What agents know of each other, and what they may tell each other.

use chorus::tools::first_prose;
use insta::assert_snapshot;
use serde_json::json;

use super::lab::Lab;

#[tokio::test]
async fn agents_are_listed_with_what_they_say_of_themselves() {
    let lab = Lab::new();
    let readme = lab.home.path().join("agents/ada/docs/README.md");
    std::fs::write(readme, "# Ada\n\n> a quote\nProves theorems.\n").unwrap();
    assert_snapshot!(lab.does("list_agents", json!({})).await, @"ada (demo-large): Proves theorems.");
    assert_snapshot!(lab.does("read_agent_docs", json!({"agent": "ada"})).await, @"
    ## docs/README.md

    # Ada

    > a quote
    Proves theorems.
    ");
}

#[tokio::test]
async fn only_other_agents_of_the_server_are_reached() {
    let lab = Lab::new();
    let lab = &lab;
    let refuses = async |name: &str| {
        let arguments = json!({"agent": name, "message": "hello"});
        let told = lab.refuses("send_to_agent", arguments.clone()).await;
        assert_eq!(lab.refuses("read_agent_docs", arguments).await, told);
        told
    };
    assert_snapshot!(refuses("lab").await, @"that is you; name another agent");
    assert_snapshot!(refuses("adda").await, @"there is no agent `adda` here that the people behind this turn may talk to; did you mean `ada`?");
    assert_snapshot!(refuses("../../etc").await, @"`../../etc` is not an agent's name: a name has 2 to 32 characters, only a-z, 0-9, `-` and `_`, and begins and ends with a letter or digit");
    assert_snapshot!(refuses("Ada").await, @"`Ada` is not an agent's name: names are lower case: use `ada`");
}

#[tokio::test]
async fn chains_end_after_three_hops_and_ten_messages() {
    let mut lab = Lab::new();
    let hello = || json!({"agent": "ada", "message": "hello"});
    lab.context.depth = 3;
    assert_snapshot!(lab.refuses("send_to_agent", hello()).await, @"this turn is 3 hops from a person already; report in your own channel instead");
    lab.context.depth = 2;
    for _ in 0..10 {
        lab.does("send_to_agent", hello()).await;
    }
    let told = lab.refuses("send_to_agent", hello()).await;
    assert!(
        told.starts_with("you have written to other agents too often; again in "),
        "{told}"
    );
    assert_eq!(lab.seen.sent.lock().unwrap().len(), 10);
}

#[test]
fn the_first_line_of_prose_describes() {
    let long = "x".repeat(201);
    let cut = format!("{}...", "x".repeat(197));
    for (readme, line) in [
        ("# T\n\nHello there.", "Hello there."),
        ("**Bold**\nReal", "Real"),
        ("", ""),
        ("_italic_\nReal", "_italic_"),
        ("- list item", "- list item"),
        (&"x".repeat(200), &"x".repeat(200)),
        (&long, &cut),
    ] {
        assert_eq!(first_prose(readme), line, "{readme}");
    }
}

#[tokio::test]
async fn models_are_listed_with_one_s_own_marked() {
    let lab = Lab::new();
    assert_snapshot!(lab.does("list_models", json!({})).await, @"
    demo-large
    demo-small
    ");
    assert_snapshot!(lab.does("list_models", json!({"contains": "SMALL"})).await, @"demo-small");
    assert_snapshot!(lab.refuses("list_models", json!({"contains": "gpt"})).await, @"no model is known by that; call list_models without arguments for all of them");
}
