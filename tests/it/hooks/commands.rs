//! `/hook`: who may, what is refused, what is audited, and that no secret is kept.

use chorus_webhook::Kind;
use serde_json::json;

use super::{Hook, receiving, secret};
use crate::world::run_test_with;

#[tokio::test]
async fn only_who_manages_the_server_has_webhooks() {
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        Hook::made(world, Kind::Github, "prompt:Look. name:repo").await;
        for typed in [
            "new kind:github prompt:Look.",
            "list",
            "show name:repo",
            "test name:repo",
            "rotate name:repo",
            "pause name:repo",
            "resume name:repo",
            "delete name:repo",
        ] {
            let tried = world.bob.tries(&format!("/hook {typed}"), "#lab").await;
            assert!(tried.is_err(), "{typed}");
        }
        let listed = world.ann.asks("/hook list", "#lab").await;
        assert!(
            listed.contains("repo") && listed.contains("locked"),
            "{listed}"
        );
        assert!(!listed.contains("not listening"), "{listed}");
        for typed in ["pause name:all", "resume name:all", "delete name:repo"] {
            let said = world.ann.asks(&format!("/hook {typed}"), "#lab").await;
            assert!(said.contains("`repo` is"), "{typed}: {said}");
        }
        let audited = world
            .ledger(
                "SELECT action_string FROM audit_log WHERE action_string LIKE '%hook%' ORDER BY id",
            )
            .await;
        let commands = ["hook_new", "hook_pause", "hook_resume", "hook_delete"];
        assert_eq!(
            audited,
            commands.map(|command| format!("command:{command}"))
        );
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_the_reason() {
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        Hook::made(world, Kind::Github, "prompt:Look. name:repo").await;
        for (typed, reason) in [
            ("kind:github", "needs `prompt`"),
            ("kind:github prompt:Look. name:repo", "`repo-2` is free"),
            ("kind:github prompt:Look. name:all", "every webhook"),
            ("kind:github prompt:Look. name:-x-", "cannot be the name"),
            ("kind:bearer prompt:Look. events:push", "name no event"),
            ("kind:github prompt:Look. events:a b", "is no event"),
            (
                "kind:github prompt:Look. match:ref",
                "`/ref=refs/heads/main`",
            ),
            (
                "kind:github prompt:Look. thread_by:number",
                "begins with `/`",
            ),
            (
                "kind:github prompt:Look. thread_by:/n where:main",
                "does not fit",
            ),
            (
                "kind:github prompt:Look. debounce:11m",
                "at most 10 minutes",
            ),
            ("kind:github prompt:Look. debounce:soon", "Write a time"),
            ("kind:github prompt:Look. profile:no-such", "no-such"),
        ] {
            let said = world.ann.asks(&format!("/hook new {typed}"), "#lab").await;
            assert!(said.contains(reason), "{typed}: {said}");
        }
        for _ in 2..=10 {
            Hook::made(world, Kind::Github, "prompt:Look.").await;
        }
        let full = world
            .ann
            .asks("/hook new kind:github prompt:Look.", "#lab")
            .await;
        assert!(full.contains("10 webhooks, which is the limit"), "{full}");
    })
    .await;
}

#[tokio::test]
async fn no_secret_is_in_the_database_or_a_backup() {
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let mut secrets = Vec::new();
        for kind in Kind::ALL {
            let hook = Hook::made(world, kind, "then:post").await;
            secrets.push(hook.secret.shown(kind));
            secrets.push(secret(hook.id(), 1).shown(Kind::Github));
        }
        secrets.push(super::KEY.to_owned());
        world.ann.asks("/hook rotate name:github", "#lab").await;
        world.stops().await;
        let folder = world.home().join("db");
        let files = std::fs::read_dir(folder).unwrap().flatten();
        let mut looked = 0;
        for file in files.filter(|file| file.path().is_file()) {
            let bytes = std::fs::read(file.path()).unwrap();
            looked += bytes.len();
            for secret in &secrets {
                let found = bytes
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!found, "{}", file.path().display());
            }
        }
        assert!(looked > 10_000);
    })
    .await;
}
