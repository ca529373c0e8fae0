//! `/metrics` and `/healthz`, on loopback when they are wanted.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::program;
use crate::not_run::python;
use crate::world::{Setup, World, run_test_with};

/// An address on loopback that nobody listens on. The system hands out higher ports than these, and another test, which is
/// another process, begins to look elsewhere.
pub(crate) fn free_address() -> String {
    let first = 20_000 + std::process::id() % 10_000;
    let mut addresses = (first..32_000).map(|port| format!("127.0.0.1:{port}"));
    let is_free = |address: &String| std::net::TcpListener::bind(address).is_ok();
    addresses.find(is_free).unwrap()
}

/// Status and body of a page, as Prometheus asks for it.
pub(super) async fn get(address: &str, path: &str) -> (u16, String) {
    let response = accepting(
        address,
        path,
        "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
    )
    .await;
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn accepting(address: &str, path: &str, kind: &str) -> reqwest::Response {
    let request = reqwest::Client::new().get(format!("http://{address}{path}"));
    request.header("accept", kind).send().await.unwrap()
}

/// A world that serves metrics, in which everything that is counted happens once, and the page it then serves.
async fn counted(story: impl AsyncFnOnce(&mut World, &str)) {
    let address = free_address();
    let setup = Setup {
        config: json!({ "metrics_listen": address }),
        ..program(Vec::new())
    };
    run_test_with(setup, async |world| {
        world.exchange("a secret hello", "Hello, Ann.").await;
        world.writes_when_allowed(&world.ann).await;
        world.model.calls_tool("view", json!({"path": "missing"}));
        world.exchange("look", "There is nothing.").await;
        world
            .ledger_says("SELECT state FROM outbox WHERE state <> 'sent'", &[])
            .await;
        story(world, &address).await;
    })
    .await;
}

/// The value of a line of the page.
fn value(page: &str, series: &str) -> f64 {
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let value = line.unwrap_or_else(|| panic!("no {series}: {page}"));
    value.parse().unwrap()
}

/// What the model of the tests is called by.
const MODEL: &str = r#"provider="anthropic",model="scripted-model""#;

#[tokio::test]
async fn what_was_done_can_be_counted() {
    counted(async |world, address| {
        let (status, health) = get(address, "/healthz").await;
        assert_eq!((status, health.as_str()), (200, "ok\n"));
        let (status, page) = get(address, "/metrics").await;
        assert_eq!(status, 200);
        let is = |series: &str, expected: f64| {
            assert_eq!(value(&page, series), expected, "{series}: {page}")
        };
        is(
            &format!(
                "chorus_build_info{{version=\"{}\"}}",
                env!("CARGO_PKG_VERSION")
            ),
            1.0,
        );
        is("chorus_gateway_connected", 1.0);
        is("chorus_gateway_connections_total", 1.0);
        is("chorus_agents{status=\"active\"}", 1.0);
        is("chorus_turns_total{outcome=\"answered\"}", 3.0);
        is("chorus_turns_running", 0.0);
        is(
            "chorus_turn_duration_seconds_count{outcome=\"answered\"}",
            3.0,
        );
        is(
            "chorus_turn_duration_seconds_bucket{le=\"+Inf\",outcome=\"answered\"}",
            3.0,
        );
        is(
            &format!("chorus_model_requests_total{{{MODEL},outcome=\"ok\"}}"),
            5.0,
        );
        is(
            &format!("chorus_model_request_duration_seconds_count{{{MODEL}}}"),
            5.0,
        );
        is(
            &format!("chorus_model_request_duration_seconds_bucket{{le=\"300.0\",{MODEL}}}"),
            5.0,
        );
        assert!(
            value(
                &page,
                &format!("chorus_model_tokens_total{{{MODEL},kind=\"output\"}}")
            ) > 0.0
        );
        is("chorus_tool_calls_total{tool=\"bash\",outcome=\"ok\"}", 1.0);
        is(
            "chorus_tool_calls_total{tool=\"view\",outcome=\"error\"}",
            1.0,
        );
        is(
            "chorus_tool_call_duration_seconds_count{tool=\"view\"}",
            1.0,
        );
        is("chorus_approvals_total{decision=\"allow\"}", 1.0);
        for waiting in [
            "approvals_waiting",
            "messages_waiting",
            "outbox_waiting",
            "requests_waiting",
            "tasks_running",
        ] {
            is(&format!("chorus_{waiting}"), 0.0);
        }
        assert!(value(&page, "process_resident_memory_bytes") > 1e6);
        assert!(
            value(&page, "process_virtual_memory_bytes")
                > value(&page, "process_resident_memory_bytes")
        );
        assert!(value(&page, "process_open_fds") > 3.0);
        assert!(value(&page, "process_max_fds") > value(&page, "process_open_fds"));
        assert!(value(&page, "process_cpu_seconds_total") > 0.0);
        let now = chrono::Utc::now().timestamp() as f64;
        let age = now - value(&page, "process_start_time_seconds");
        assert!((-2.0..600.0).contains(&age), "{age}");
        assert!(page.ends_with("# EOF\n"), "{page}");
        assert!(!page.contains("secret"), "{page}");
        assert_eq!(get(address, "/else").await.0, 404);

        // What was counted already is not counted again; what is new is.
        world.model.is_overloaded();
        world.exchange("and once more", "Hello again.").await;
        let (_, page) = get(address, "/metrics").await;
        let is = |series: &str, expected: f64| {
            assert_eq!(value(&page, series), expected, "{series}: {page}")
        };
        is("chorus_turns_total{outcome=\"answered\"}", 4.0);
        is(
            &format!("chorus_model_requests_total{{{MODEL},outcome=\"ok\"}}"),
            6.0,
        );
        is(
            &format!("chorus_model_requests_total{{{MODEL},outcome=\"rate_limit\"}}"),
            1.0,
        );
    })
    .await;
}

#[tokio::test]
async fn what_waits_is_counted_while_it_waits() {
    let address = free_address();
    let setup = Setup {
        config: json!({ "metrics_listen": address }),
        ..program(Vec::new())
    };
    run_test_with(setup, async |world| {
        world.asks_to_write(&world.ann, "It is written.").await;
        let (_, page) = get(&address, "/metrics").await;
        assert_eq!(value(&page, "chorus_approvals_waiting"), 1.0);
        assert_eq!(value(&page, "chorus_turns_running"), 1.0);
        assert!(!page.contains("chorus_turns_total{"), "{page}");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is written.").await;
        let (_, page) = get(&address, "/metrics").await;
        assert_eq!(value(&page, "chorus_approvals_waiting"), 0.0);
        assert_eq!(value(&page, "chorus_turns_running"), 0.0);
        assert_eq!(
            value(&page, "chorus_turns_total{outcome=\"answered\"}"),
            1.0
        );
    })
    .await;
}

#[tokio::test]
async fn what_was_counted_outlives_the_daemon() {
    counted(async |world, address| {
        world.restarts().await;
        let (_, page) = get(address, "/metrics").await;
        assert_eq!(
            value(&page, "chorus_turns_total{outcome=\"answered\"}"),
            3.0
        );
        // The stop saved the conversation, with a summary.
        let requests = format!("chorus_model_requests_total{{{MODEL},outcome=\"ok\"}}");
        assert!(value(&page, &requests) >= 5.0, "{page}");
    })
    .await;
}

/// The metrics that a file names.
fn named(path: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = regex::Regex::new(r"\b(?:chorus|process)_[a-z_]+").unwrap();
    name.find_iter(&text)
        .map(|found| found.as_str().to_owned())
        .collect()
}

#[tokio::test]
async fn the_dashboard_the_alerts_and_the_page_name_metrics_that_are_there() {
    counted(async |_, address| {
        let (_, page) = get(address, "/metrics").await;
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let there: BTreeSet<String> = lines
            .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
            .collect();
        for path in [
            "docs/operations/monitoring/grafana/chorus.json",
            "docs/operations/monitoring/prometheus/alerts.yml",
        ] {
            let missing: Vec<String> = named(path).difference(&there).cloned().collect();
            assert!(
                missing.is_empty(),
                "{path} names {missing:?}, which are not among {there:?}"
            );
        }
        // The documentation names a histogram without the endings of its series.
        let listed = named("docs/operations/metrics.md");
        let of_histogram = |name: &str| {
            let endings = ["_bucket", "_sum", "_count"];
            let base = endings.iter().find_map(|ending| name.strip_suffix(ending));
            base.filter(|base| base.ends_with("_seconds") || base.ends_with("_usd"))
                .unwrap_or(name)
                .to_owned()
        };
        let there: BTreeSet<String> = there.iter().map(|name| of_histogram(name)).collect();
        assert_eq!(listed, there, "docs/operations/metrics.md against /metrics");
    })
    .await;
}

#[tokio::test]
async fn prometheus_own_parsers_read_the_page_the_dashboard_and_the_alerts() {
    let Some(mut judge) = python("metrics", "promql_parser, prometheus_client, yaml") else {
        return;
    };
    counted(async |world, address| {
        let (_, page) = get(address, "/metrics").await;
        let file = world.home().join("page");
        std::fs::write(&file, &page).unwrap();
        let plain = accepting(address, "/metrics", "*/*").await;
        let plain_file = world.home().join("plain");
        std::fs::write(&plain_file, plain.text().await.unwrap()).unwrap();
        let judged = judge
            .arg("tests/metrics/judge.py")
            .args([&file, &plain_file, &"docs/operations/monitoring".into()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&judged.stderr);
        assert!(judged.status.success(), "{said}");
        let seen: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
        assert_eq!(
            seen["families"]["chorus_turn_duration_seconds"],
            "histogram"
        );
        assert_eq!(seen["families"]["chorus_build"], "info");
        assert!(seen["queries"].as_u64().unwrap() > 20, "{seen}");
    })
    .await;
}

/// Who does not ask for OpenMetrics gets the format that every collector reads, with the same figures.
#[tokio::test]
async fn the_page_has_the_form_that_is_accepted() {
    counted(async |_, address| {
        let kind = async |accept| {
            let page = accepting(address, "/metrics", accept).await;
            let kind = page.headers()["content-type"].to_str().unwrap().to_owned();
            (kind, page.text().await.unwrap())
        };
        let (open_kind, open) =
            kind("application/openmetrics-text; version=1.0.0, */*;q=0.1").await;
        assert_eq!(
            open_kind,
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        );
        assert!(open.ends_with("# EOF\n"));
        for accept in ["text/plain;version=0.0.4", "*/*"] {
            let (plain_kind, plain) = kind(accept).await;
            assert_eq!(plain_kind, "text/plain; version=0.0.4; charset=utf-8");
            assert!(
                !plain.contains("# EOF") && !plain.contains("# UNIT"),
                "{plain}"
            );
            assert!(
                plain.contains("# TYPE chorus_turns_total counter\n"),
                "{plain}"
            );
            assert!(
                plain.contains("# TYPE chorus_build_info gauge\n"),
                "{plain}"
            );
            // The order of labels is another each time.
            let names = |page: &str| -> BTreeSet<String> {
                let samples = page.lines().filter(|line| !line.starts_with('#'));
                let names = samples.map(|line| line.rsplit_once(' ').unwrap().0.to_owned());
                names.collect()
            };
            assert_eq!(names(&plain), names(&open));
        }
    })
    .await;
}

/// The status of a request that was written by hand.
fn status(address: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn only_our_own_hosts_are_answered_so_that_no_web_site_reads_them() {
    let address = free_address();
    let setup = Setup {
        config: json!({
            "metrics_listen": address,
            "metrics_hosts": ["chorus", "Metrics.example.org", "192.0.2.7", "2001:db8::7"],
        }),
        ..program(Vec::new())
    };
    run_test_with(setup, async |_| {
        let port = address.split(':').next_back().unwrap();
        let asked = |host: &str, path: &str| {
            let close = "Connection: close";
            status(
                &address,
                &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n\r\n"),
            )
        };
        for host in [
            "127.0.0.1",
            "127.1.2.3",
            "localhost",
            "LocalHost.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "chorus",
            "metrics.example.org",
            "192.0.2.7",
            "[2001:db8::7]",
        ] {
            for path in ["/metrics", "/healthz"] {
                assert_eq!(asked(host, path), "200", "{host}{path}");
                // Through a tunnel or a proxy the port is another one.
                for port in [port, "8080", ""] {
                    let host = format!("{host}:{port}");
                    assert_eq!(asked(&host, path), "200", "{host}{path}");
                }
            }
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "evil.example.localhost",
            "localhost@evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80@evil.example",
            "[::1].evil.example",
            "chorus.evil.example",
            "example.org",
            "0.0.0.0",
            "192.0.2.8",
            "2130706433",
            "localhost:80:80",
            "localhost:x",
            "[::1]x",
            "[",
            "]",
            ":",
            "",
        ] {
            for path in ["/metrics", "/healthz"] {
                let status = asked(host, path);
                assert!(
                    matches!(status.as_str(), "421" | "400"),
                    "{host}{path}: {status}"
                );
            }
        }
        // A second host, a host in the target, and none.
        let close = "Connection: close\r\n\r\n";
        for (request, expected) in [
            (
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n",
                "421",
            ),
            (
                "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n",
                "421",
            ),
            (
                "GET http://localhost/metrics HTTP/1.1\r\nHost: evil.example\r\n",
                "421",
            ),
            (
                "GET http://localhost/metrics HTTP/1.1\r\nHost: localhost\r\n",
                "200",
            ),
            ("GET /metrics HTTP/1.1\r\n", "421"),
            ("GET /healthz HTTP/1.0\r\n", "200"),
            ("GET /healthz HTTP/1.0\r\nHost: evil.example\r\n", "421"),
        ] {
            assert_eq!(
                status(&address, &format!("{request}{close}")),
                expected,
                "{request}"
            );
        }
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
