//! The page of a run, opened in a browser: nothing in it runs, and nothing is asked for, whatever was said in the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chorus::domain::{Node, Op, OpKind, Run, TurnId, Usage};
use chorus::drawing;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::chromium::{Browser, Light, Screen};

/// What somebody may say who wants to get out of the page.
fn hostile(address: &str) -> Vec<String> {
    vec![
        format!("</pre><script>window.caught = 1; fetch('{address}/fetch')</script>"),
        format!("<img src={address}/img onerror=\"window.caught = 2\">"),
        format!("\"><svg onload=\"window.caught = 3\"><image href=\"{address}/svg\"/></svg>"),
        format!(
            "<iframe src=\"{address}/frame\"></iframe><link rel=stylesheet href={address}/css>"
        ),
        "</style></title></head><script>window.caught = 6</script>".to_owned(),
        format!("<style>@import url({address}/import); body {{ display: none }}</style>"),
        format!(
            "<meta http-equiv=refresh content=\"0;url={address}/refresh\"><base href=\"{address}/\">"
        ),
        format!(
            "<form action={address}/form><input autofocus onfocus=\"window.caught = 4\"></form>"
        ),
        "\u{202E}gnihton\u{0}\u{7}\u{1b}[31m".to_owned(),
        "x".repeat(1 << 20),
        "javascript:window.caught=5".to_owned(),
    ]
}

fn op(kind: OpKind, words: &str) -> Op {
    Op {
        at: chrono::Utc::now(),
        ms: 12,
        kind,
        name: words.chars().take(200).collect(),
        outcome: "ok".to_owned(),
        usage: Usage::default(),
        cost_usd: Some(0.0),
        decision: None,
        effect: Some(words.to_owned()),
        preview: Some(words.to_owned()),
    }
}

/// A run in which every text is hostile.
fn run(words: &[String]) -> Run {
    let node = |turn: TurnId, words: &str, children: Vec<Node>, ops: Vec<Op>| Node {
        turn,
        parent: None,
        path: words.chars().take(200).collect(),
        kind: "sub_agent".to_owned(),
        role: Some(words.chars().take(200).collect()),
        role_sha256: None,
        cause: "message".to_owned(),
        resumes: None,
        resumed_by: None,
        title: Some(words.chars().take(200).collect()),
        model: Some(words.chars().take(200).collect()),
        exit: Some("answered".to_owned()),
        exit_code: Some("EXIT-FINAL-ANSWER".to_owned()),
        exit_reason: None,
        source: None,
        began_at: Some(chrono::Utc::now()),
        ended_at: Some(chrono::Utc::now()),
        steps: 1,
        usage: Usage::default(),
        cost_usd: Some(0.0),
        own_cost_usd: Some(0.0),
        has_answered: true,
        ops,
        children,
    };
    let ops = |words: &str| vec![op(OpKind::Tool, words), op(OpKind::Model, words)];
    let children = words
        .iter()
        .map(|words| node(TurnId::random(), words, Vec::new(), ops(words)));
    let root = TurnId::random();
    Run {
        version: Run::VERSION,
        run: root,
        origin: root,
        caused_by: None,
        asked_by: Some(words[1].clone()),
        caused: Vec::new(),
        gaps: words.iter().take(3).cloned().collect(),
        node: node(root, &words[0], children.collect(), Vec::new()),
    }
}

#[tokio::test]
async fn a_hostile_one_runs_nothing_and_asks_for_nothing() {
    let Some(mut browser) = Browser::start().await else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let page = drawing::run_page(&run(&hostile(&address)), chrono::Utc::now());
    assert!(page.len() < drawing::PAGE_BYTES, "{}", page.len());
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("run.html");
    std::fs::write(&file, &page).unwrap();
    browser.screen(Screen::Desktop, Light::Bright).await;
    browser.reads_file(&file).await;
    // Everything unfolded, and a script of the page would have run by now.
    browser
        .evaluates("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        .await;
    browser.reads("<script>window.caught").await;
    let caught = browser.evaluates("window.caught ?? 0").await;
    assert_eq!(caught, 0);
    let loaded = "performance.getEntriesByType('resource').length + document.scripts.length + document.images.length
        + document.querySelectorAll('iframe, form, link, base, object, embed').length";
    assert_eq!(browser.evaluates(loaded).await, 0);
    let is_shown = "document.body.innerText.includes('\\\\u{202E}') && !/[\\u202E\\u0000\\u001b]/.test(document.body.innerText)";
    assert_eq!(browser.evaluates(is_shown).await, true);
    assert_eq!(asked.load(Ordering::SeqCst), 0);

    // Nothing sticks out to the side, on a phone either.
    browser.screen(Screen::Phone, Light::Dark).await;
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.evaluates(fits).await, true);
}
