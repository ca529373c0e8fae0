//! `/metrics` and `/healthz`, on loopback when they are wanted.

use serde_json::json;

use super::program;
use crate::world::{Setup, run_test_with};

/// An address on loopback that nobody listens on.
pub(super) fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Status and body of a page.
pub(super) async fn get(address: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("http://{address}{path}"))
        .await
        .unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn what_was_done_can_be_counted() {
    let address = free_address();
    let setup = Setup {
        config: json!({ "metrics_listen": address }),
        ..program(Vec::new())
    };
    run_test_with(setup, async |world| {
        world.exchange("a secret hello", "Hello, Ann.").await;
        let (status, health) = get(&address, "/healthz").await;
        assert_eq!((status, health.as_str()), (200, "ok\n"));
        let (status, text) = get(&address, "/metrics").await;
        assert_eq!(status, 200);
        for line in [
            "# TYPE chorus_agents gauge",
            "chorus_agents{status=\"active\"} 1",
            "chorus_model_requests_total{provider=\"anthropic\",model=\"scripted-model\"} ",
            "chorus_model_tokens_total{provider=\"anthropic\",model=\"scripted-model\",kind=\"output\"} ",
            "chorus_process_resident_memory_bytes ",
            "chorus_process_open_files ",
        ] {
            assert!(
                text.lines().any(|found| found.starts_with(line)),
                "no {line}: {text}"
            );
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(get(&address, "/else").await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_named_with_78() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    run_test_with(Setup::default(), async |world| {
        let home = tempfile::tempdir().unwrap();
        let config = json!({ "metrics_listen": address }).to_string();
        std::fs::write(home.path().join("config.json"), config).unwrap();
        let mut run = super::command(world, &["run"]);
        let refused = super::seen(run.env("CHORUS_HOME", home.path())).await;
        assert_eq!(refused.code, 78, "{}", refused.err);
        assert!(refused.err.contains(&address), "{}", refused.err);
        assert!(
            refused.err.contains("write another port"),
            "{}",
            refused.err
        );
    })
    .await;
}
