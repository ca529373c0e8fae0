//! The page's own small HTTP interface, and who may use it.

use std::io;
use std::path::Path;

use chorus_playground::{Options, Playground};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;

use super::posted;

async fn started() -> (Playground, TempDir) {
    let home = TempDir::new().unwrap();
    let playground = started_in(home.path()).await.unwrap();
    (playground, home)
}

async fn started_in(home: &Path) -> io::Result<Playground> {
    let options = Options {
        folder: Some(home.join("discord")),
        ..Options::default()
    };
    let page = TcpListener::bind(("127.0.0.1", 0)).await?;
    Playground::start(options, page).await
}

async fn act(playground: &Playground, body: Value) -> (u16, Value) {
    let url = format!("{}/api/act", playground.url());
    let response = posted(url, &body).await;
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn a_person_writes_and_everybody_sees_it() {
    let (playground, _home) = started().await;
    let general = playground.discord.channel("#general").unwrap();
    let ann = playground.discord.user("ann").id.to_string();

    let order = json!({"as": ann, "do": "say", "channel": general.to_string(), "content": "hello"});
    let (status, _) = act(&playground, order).await;

    assert_eq!(status, 200);
    assert_eq!(playground.discord.transcript(general), "ann: hello");
}

#[tokio::test]
async fn what_cannot_be_done_is_said_in_a_sentence() {
    let (playground, _home) = started().await;
    let general = playground.discord.channel("#general").unwrap().to_string();
    let ann = playground.discord.user("ann").id.to_string();
    let long = "x".repeat(2_001);
    let cases = [
        (
            json!({"as": ann, "do": "say", "channel": general, "content": long}),
            "A message has at most 2000 characters.",
        ),
        (
            json!({"as": ann, "do": "say", "channel": general, "content": "  "}),
            "There is nothing to send.",
        ),
        (
            json!({"as": ann, "do": "say", "channel": "1", "content": "x"}),
            "This channel no longer exists.",
        ),
        (
            json!({"as": "1", "do": "say", "channel": general, "content": "x"}),
            "there is no user with this id",
        ),
        (
            json!({"as": ann, "do": "run", "channel": general, "command": "/nothing", "options": []}),
            "there is no command /nothing",
        ),
        (
            json!({"as": ann, "do": "add_user", "name": "No Spaces"}),
            "A name has 2 to 32 of a to z, 0 to 9, `_` and `.`.",
        ),
    ];
    for (order, expected) in cases {
        let (status, body) = act(&playground, order).await;
        assert_eq!((status, body["error"].as_str()), (400, Some(expected)));
    }
}

#[tokio::test]
async fn only_a_browser_pointed_at_loopback_may_use_it() {
    let (playground, _home) = started().await;
    let url = format!("{}/api/state", playground.url());
    let client = reqwest::Client::new();
    let own = playground.url();

    let plain = client.get(&url).send().await.unwrap();
    let same = client
        .get(&url)
        .header("origin", &own)
        .send()
        .await
        .unwrap();
    let foreign = client
        .get(&url)
        .header("origin", "http://evil.example")
        .send()
        .await
        .unwrap();
    let rebound = client
        .get(&url)
        .header("host", "evil.example")
        .send()
        .await
        .unwrap();

    assert_eq!(
        (plain.status().as_u16(), same.status().as_u16()),
        (200, 200)
    );
    assert_eq!(
        (foreign.status().as_u16(), rebound.status().as_u16()),
        (403, 403)
    );
    let policy = plain.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("script-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
}

#[tokio::test]
async fn a_taken_port_is_one_sentence_with_the_way_out() {
    let (playground, _home) = started().await;
    let url = playground.url();
    let port = url.rsplit(':').next().unwrap();

    let other = TempDir::new().unwrap();
    let outcome = Command::new(env!("CARGO_BIN_EXE_chorus"))
        .args(["playground", "--port", port, "--home"])
        .arg(other.path().join("home"))
        .env("HOME", other.path())
        .output()
        .await
        .unwrap();

    let words = String::from_utf8(outcome.stderr).unwrap();
    let expected = format!(
        "port {port} is taken: choose another with `chorus playground --port <PORT>`, or end the program that uses it"
    );
    assert!(
        !outcome.status.success() && words.contains(&expected),
        "{words}"
    );
    assert!(!other.path().join("home").exists(), "nothing is half-made");
}

#[tokio::test]
async fn the_page_asks_nothing_of_the_world_and_never_parses_html() {
    let (playground, _home) = started().await;
    let get = async |path: &str| {
        reqwest::get(format!("{}{path}", playground.url()))
            .await
            .unwrap()
            .error_for_status()
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    let page = get("/").await;
    assert!(
        page.contains("/app.js") && !page.contains("https://"),
        "nothing from elsewhere"
    );
    for file in [
        "api", "app", "composer", "dialogs", "dom", "markdown", "messages", "options",
    ] {
        let script = get(&format!("/{file}.js")).await;
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!script.contains(forbidden), "{file}.js uses {forbidden}");
        }
    }
}

#[tokio::test]
async fn a_trial_goes_on_where_it_ended() {
    let (playground, home) = started().await;
    let general = playground.discord.channel("#general").unwrap();
    let ann = playground.discord.user("ann");
    ann.uploads(general, "see this", &[("notes.txt", b"one")]);
    let before = playground.discord.transcript(general);
    playground.stop().await;

    let again = started_in(home.path()).await.unwrap();

    assert_eq!(again.discord.channel("#general"), Some(general));
    assert_eq!(again.discord.transcript(general), before);
    let message = again.discord.messages(general).pop().unwrap();
    assert_eq!(again.discord.file(&message.attachments[0]), b"one");
    assert!(again.discord.user("bob").says(general, "later") > message.id);
}

#[tokio::test]
async fn a_damaged_trial_is_named_with_the_way_out() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("discord")).unwrap();
    std::fs::write(home.path().join("discord/discord.json"), "{").unwrap();

    let error = started_in(home.path()).await.err().unwrap().to_string();

    assert!(
        error.contains("discord.json is damaged") && error.contains("to start over"),
        "{error}"
    );
}
