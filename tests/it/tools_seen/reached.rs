//! Paths and addresses that lead elsewhere, seen by people: what is asked, what is shown, what runs.

use std::fs;
use std::os::unix::fs::symlink;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use serde_json::{Value, json};

use super::{given, uses};
use crate::world::{Setup, World, run_test_with};

/// What no call may show.
const SECRET: &str = "the secret of the folder";

/// A profile that allows work in `docs/`, denies to look at `secrets/` and asks about the rest.
fn setup() -> Setup {
    let narrow = json!({
        "allow": ["tool:(create_file|view|send_file|grep|glob):docs(/.*)?", "tool:run_background:make in web"],
        "ask": ["tool:.*"],
        "deny": ["tool:(view|grep|glob):secrets(/.*)?"],
    });
    Setup {
        config: json!({"profiles": {"narrow": narrow}, "default_permissions": "narrow"}),
        ..Setup::default()
    }
}

/// `docs/out` leads to `src`, `docs/s` to `secrets`, `docs/k` to the file in there.
fn links(world: &World) {
    let files = world.workspace("lab");
    for folder in ["docs", "src", "secrets", "other"] {
        fs::create_dir_all(files.join(folder)).unwrap();
    }
    fs::write(files.join("secrets/k"), SECRET).unwrap();
    fs::write(files.join("docs/readme"), "read me").unwrap();
    symlink("../src", files.join("docs/out")).unwrap();
    symlink("../secrets", files.join("docs/s")).unwrap();
    symlink("s/k", files.join("docs/k")).unwrap();
}

/// Has the model make one call; a question about it is expected. Returns what the card shows.
async fn is_asked(world: &World, tool: &str, arguments: Value, then: &str) -> String {
    world.model.calls_tool(tool, arguments).answers(then);
    world.ann.says("#lab", &format!("please use {tool}")).await;
    let question = world.question("#lab").await;
    world.discord.shown(&question)
}

#[tokio::test]
async fn a_file_behind_a_link_is_asked_about_where_it_is() {
    run_test_with(setup(), async |world| {
        links(world);
        let file = |path: &str| json!({"path": path, "content": "fn x() {}"});
        // Without a link: one is allowed, the other one is asked about.
        uses(world, "create_file", file("docs/x.rs")).await.ok();
        let card = is_asked(world, "create_file", file("src/y.rs"), "One.").await;
        assert!(
            card.contains("src/y.rs") && !card.contains("Leads to"),
            "{card}"
        );
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "One.").await;

        let card = is_asked(world, "create_file", file("docs/out/x.rs"), "Two.").await;
        for words in ["docs/out/x.rs", "**Leads to**", "src/x.rs"] {
            assert!(card.contains(words), "no “{words}” in\n{card}");
        }
        let written = world.workspace("lab").join("src/x.rs");
        assert!(!written.exists());
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Two.").await;
        assert_eq!(fs::read_to_string(written).unwrap(), "fn x() {}");
        let audited = world
            .ledger("SELECT detail FROM audit_log WHERE action_string = 'tool:create_file:docs/out/x.rs'")
            .await;
        assert!(
            audited[0].contains("tool:create_file:src/x.rs"),
            "{audited:?}"
        );
        let audit = world.ann.asks("/audit", "#lab").await;
        let led = "`tool:create_file:docs/out/x.rs` · led to `tool:create_file:src/x.rs`";
        assert!(audit.contains(led), "{audit}");
    })
    .await;
}

#[tokio::test]
async fn a_denied_folder_is_not_seen_through_a_link() {
    run_test_with(setup(), async |world| {
        links(world);
        uses(world, "view", json!({"path": "docs/readme"}))
            .await
            .ok();
        let told = uses(world, "view", json!({"path": "secrets/k"}))
            .await
            .refused();
        assert!(told.contains("not permitted: denied by"), "{told}");
        for (tool, arguments) in [
            ("view", json!({"path": "docs/s/k"})),
            ("view", json!({"path": "docs/k"})),
            ("view", json!({"path": "docs/s"})),
            ("grep", json!({"pattern": "secret", "path": "docs/s"})),
            ("grep", json!({"pattern": "secret", "path": "docs/k"})),
            ("glob", json!({"pattern": "*", "path": "docs/s"})),
        ] {
            let told = uses(world, tool, arguments).await.refused();
            assert!(
                told.contains("denied by") && told.contains("for it leads to `secrets"),
                "{told}"
            );
            assert!(!told.contains(SECRET), "{told}");
        }
        // The search of all of it is asked about, allowed, and leaves the folder out.
        let found = uses(world, "grep", json!({"pattern": "secret|read me"}))
            .await
            .ok();
        assert!(
            found.contains("docs/readme") && !found.contains(SECRET),
            "{found}"
        );
        assert!(
            found.contains("[what the permissions deny was left out]"),
            "{found}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_file_behind_a_link_is_not_posted_without_a_question() {
    run_test_with(setup(), async |world| {
        links(world);
        let card = is_asked(world, "send_file", json!({"path": "docs/s/k"}), "Well.").await;
        assert!(
            card.contains("docs/s/k") && card.contains("secrets/k"),
            "{card}"
        );
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Well.").await;
        let posted = world.messages("#lab");
        assert!(posted.iter().all(|one| one.attachments.is_empty()));
    })
    .await;
}

#[tokio::test]
async fn a_link_that_is_swapped_while_people_are_asked_is_not_followed() {
    run_test_with(setup(), async |world| {
        links(world);
        let files = world.workspace("lab");
        let file = json!({"path": "docs/out/x.rs", "content": "fn x() {}"});
        is_asked(world, "create_file", file, "Well.").await;
        fs::remove_file(files.join("docs/out")).unwrap();
        symlink("../other", files.join("docs/out")).unwrap();
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Well.").await;
        let told = given(world).refused();
        assert_eq!(
            told,
            "`docs/out/x.rs` now leads to `other/x.rs`; it was judged as `src/x.rs`; try again"
        );
        assert!(!files.join("src/x.rs").exists() && !files.join("other/x.rs").exists());
    })
    .await;
}

#[tokio::test]
async fn what_is_always_allowed_behind_a_link_is_asked_about_once_it_leads_elsewhere() {
    run_test_with(setup(), async |world| {
        links(world);
        let files = world.workspace("lab");
        let file = json!({"path": "docs/out/x.rs", "content": "one"});
        is_asked(world, "create_file", file, "One.").await;
        world.ann.clicks("#lab", "Always allow").await;
        let asked = world
            .waits("ann to be asked once more", |world| {
                let private = world.discord.private_messages(world.ann.id());
                let asked = private.iter().rfind(|one| !one.buttons().is_empty())?;
                let asked = world.discord.shown(asked);
                asked.contains("Always allow?").then_some(asked)
            })
            .await;
        assert!(
            asked.contains("docs/out/x.rs") && asked.contains("src/x.rs"),
            "{asked}"
        );
        world.ann.clicks("#lab", "Confirm").await;
        world.sees("#lab", "One.").await;
        assert_eq!(
            world.agent_json("lab")["always_allow"],
            json!([
                "tool:create_file:docs/out/x.rs",
                "tool:create_file:src/x.rs"
            ])
        );
        let file = json!({"path": "docs/out/x.rs", "content": "two"});
        world.model.calls_tool("create_file", file).answers("Two.");
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "Two.").await;
        assert_eq!(fs::read_to_string(files.join("src/x.rs")).unwrap(), "two");

        fs::remove_file(files.join("docs/out")).unwrap();
        symlink("../other", files.join("docs/out")).unwrap();
        let file = json!({"path": "docs/out/x.rs", "content": "three"});
        let card = is_asked(world, "create_file", file, "Three.").await;
        assert!(card.contains("other/x.rs"), "{card}");
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Three.").await;
        assert!(!files.join("other/x.rs").exists());
    })
    .await;
}

#[tokio::test]
async fn a_command_in_a_folder_that_is_a_link_is_asked_about() {
    run_test_with(setup(), async |world| {
        links(world);
        symlink("src", world.workspace("lab").join("web")).unwrap();
        let command = json!({"command": "make", "working_directory": "web"});
        let card = is_asked(world, "run_background", command, "Well.").await;
        assert!(
            card.contains("Folder: `web`") && card.contains("**Leads to**"),
            "{card}"
        );
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Well.").await;
    })
    .await;
}

#[tokio::test]
async fn an_upload_is_not_written_through_a_link() {
    run_test_with(setup(), async |world| {
        links(world);
        symlink("src", world.workspace("lab").join("uploads")).unwrap();
        world.model.answers("Seen.");
        world
            .ann
            .uploads("#lab", "look", &[("a.txt", b"words")])
            .await;
        world.sees("#lab", "Seen.").await;
        let request = world.model.last_request().to_string();
        assert!(
            request.contains("this file could not be saved"),
            "{request}"
        );
        assert!(!world.workspace("lab").join("src/a.txt").exists());
    })
    .await;
}

/// Serves `pages` on this machine; gives their host.
async fn serves(pages: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, pages).await });
    host
}

#[tokio::test]
async fn a_redirect_is_asked_about_as_a_call_of_its_own() {
    let other = serves(Router::new().fallback(|| async { "the other page" })).await;
    let target = format!("http://{other}/there?q=secret");
    let to_other = target.clone();
    let first =
        Router::new().fallback(move || async move { (StatusCode::FOUND, [(LOCATION, to_other)]) });
    let first = serves(first).await;
    let narrow = json!({
        "allow": [format!("tool:web_fetch:http://{}/.*", first.replace('.', "\\."))],
        "ask": ["tool:web_fetch:.*"],
    });
    let setup = Setup {
        config: json!({
            "profiles": {"narrow": narrow},
            "default_permissions": "narrow",
            "web_fetch_private": [first, other],
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let page = json!({"url": format!("http://{first}/")});
        let told = uses(world, "web_fetch", page).await.refused();
        let expected =
            format!("redirects to {target}; a person decides about that one: fetch that address");
        assert!(told.contains(&expected), "{told}");
        let card = is_asked(world, "web_fetch", json!({"url": target}), "Read.").await;
        assert!(card.contains(&target), "{card}");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Read.").await;
        assert!(given(world).ok().contains("the other page"));
    })
    .await;
}
