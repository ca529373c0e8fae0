//! The listener: answers, limits, and nothing said to strangers.

use std::time::{Duration, Instant};

use chorus_webhook::Kind;
use chrono::TimeDelta;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{DELIVERIES, Hook, joining_is_over, posts, pull_request, receiving};
use crate::cli::program::{chorus, seen};
use crate::world::{Setup, Way, run_test_with};

#[tokio::test]
async fn each_kind_takes_what_its_sender_signed_once() {
    let (setup, address) = receiving(json!({}));
    run_test_with(setup, async |world| {
        world.model.always_answers("received", "NOTHING");
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            let hook = Hook::made(world, kind, "prompt:Look. debounce:0s").await;
            let body = pull_request(1).to_string().into_bytes();
            let headers = hook.signs("d1", "pull_request", &body, world.clock.now());
            let sent = async |url: &str, body: &[u8]| {
                let answer = posts(url, &headers, body.to_vec()).await;
                (answer.status().as_u16(), answer.text().await.unwrap())
            };
            let mut flipped = body.clone();
            *flipped.last_mut().unwrap() ^= 1;
            let refused = match kind {
                // Its signature is not over the body.
                Kind::Bearer => {
                    let wrong = [("authorization".to_owned(), "Bearer 00".to_owned())];
                    let answer = posts(&hook.url, &wrong, body.clone()).await;
                    (answer.status().as_u16(), answer.text().await.unwrap())
                }
                _ => sent(&hook.url, &flipped).await,
            };
            assert_eq!(refused.0, 401, "{kind}");
            let unknown = format!("http://{address}/hooks/{}", "0".repeat(32));
            assert_eq!(sent(&unknown, &body).await, refused, "{kind}");
            assert_eq!(sent(&hook.url, &body).await.0, 202, "{kind}");
            assert_eq!(sent(&hook.url, &body).await.0, 200, "{kind}");
            let quiet = vec!["quiet"; index + 1];
            world.ledger_says(DELIVERIES, &quiet).await;
            let turns = world.ledger("SELECT cause FROM turns").await;
            assert_eq!(turns, vec!["webhook"; index + 1], "{kind}");
        }
    })
    .await;
}

#[tokio::test]
async fn requests_are_bounded_and_strangers_learn_nothing() {
    let (setup, address) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let hook = Hook::made(world, Kind::Github, "then:post").await;
        let got = reqwest::get(&hook.url).await.unwrap();
        assert_eq!(got.status(), 405);
        assert_eq!(got.headers()["allow"], "POST");
        for path in ["/", "/hooks/", "/hooks/1", "/metrics"] {
            let url = format!("http://{address}{path}");
            assert_eq!(posts(&url, &[], Vec::new()).await.status(), 404, "{path}");
        }
        let large = vec![b' '; 2 << 20];
        let headers = hook.signs("large", "push", &large, world.clock.now());
        assert_eq!(posts(&hook.url, &headers, large).await.status(), 413);
        // Headers without an end.
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let many = "x: ".to_owned() + &"y".repeat(200 << 10);
        let _ = stream
            .write_all(format!("POST / HTTP/1.1\r\nhost: x\r\n{many}").as_bytes())
            .await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.contains(" 431 "), "{answer}");
        assert!(world.ledger(DELIVERIES).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_slow_body_and_slow_headers_end() {
    let (setup, address) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let hook = Hook::made(world, Kind::Github, "then:post").await;
        let begun = Instant::now();
        let slow = async |sent: String| {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // The daemon ends it, not the test.
            let _ = stream.read_to_end(&mut answer).await;
            String::from_utf8_lossy(&answer).into_owned()
        };
        let path = format!("/hooks/{}", hook.id());
        let body = slow(format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{{"
        ));
        let headers = slow(format!("POST {path} HTTP/1.1\r\nhost: "));
        let (body, headers) = tokio::join!(body, headers);
        assert!(body.starts_with("HTTP/1.1 408 "), "{body}");
        assert!(!headers.contains(" 20"), "{headers}");
        assert!(begun.elapsed() >= Duration::from_secs(9));
    })
    .await;
}

#[tokio::test]
async fn a_webhook_has_a_rate() {
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let hook = Hook::made(world, Kind::Chorus, "then:post debounce:5m").await;
        let mut taken = 0;
        // On a slow machine one more is allowed every two seconds.
        let limited = loop {
            let body = json!({"n": taken}).to_string().into_bytes();
            let headers = hook.signs(&format!("d{taken}"), "", &body, world.clock.now());
            let answer = posts(&hook.url, &headers, body).await;
            match answer.status().as_u16() {
                202 => taken += 1,
                429 => break answer,
                other => panic!("{other}"),
            }
            assert!(taken < 500);
        };
        assert!(taken >= 30, "{taken}");
        let wait = limited.headers()["retry-after"].to_str().unwrap();
        assert!(matches!(wait, "1" | "2"), "{wait}");
    })
    .await;
}

#[tokio::test]
async fn a_standard_delivery_is_fresh() {
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let hook = Hook::made(world, Kind::Standard, "then:post").await;
        let body = json!({"type": "invoice.paid"}).to_string().into_bytes();
        for (minutes, status) in [(6, 401), (4, 202)] {
            let at = world.clock.now() - TimeDelta::minutes(minutes);
            let headers = hook.signs("d1", "", &body, at);
            let answer = posts(&hook.url, &headers, body.clone()).await;
            assert_eq!(answer.status(), status, "{minutes}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_same_body_of_a_bearer_is_the_same_for_ten_minutes() {
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let hook = Hook::made(world, Kind::Bearer, "then:post").await;
        let alert = json!({"status": "firing"});
        assert_eq!(hook.sends(world, "", "", &alert).await, 202);
        world.clock.moves(TimeDelta::minutes(9));
        assert_eq!(hook.sends(world, "", "", &alert).await, 200);
        world.clock.moves(TimeDelta::minutes(2));
        assert_eq!(hook.sends(world, "", "", &alert).await, 202);
        joining_is_over(world);
        world.ledger_says(DELIVERIES, &["done", "done"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_taken_address_leaves_a_daemon_that_says_so() {
    let (setup, address) = receiving(json!({}));
    let _taken = std::net::TcpListener::bind(&address).unwrap();
    run_test_with(setup, async |world| {
        let said = world
            .discord
            .wait_for(|discord| {
                let direct = discord
                    .requests()
                    .into_iter()
                    .find(|one| format!("{one:?}").contains("Webhooks are not received"));
                direct.map(|_| ())
            })
            .await;
        let () = said;
        let listed = world.ann.asks("/hook list", "#lab").await;
        assert!(listed.contains("not listening"), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn without_an_address_nothing_listens() {
    let setup = Setup {
        way: Way::Program,
        env: vec![("WEBHOOK_KEY", super::KEY.to_owned())],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        assert_eq!(listening(world.pid()), Vec::<String>::new());
        let refused = world
            .ann
            .asks("/hook new kind:github prompt:Look.", "#lab")
            .await;
        assert!(refused.contains("webhooks.listen"), "{refused}");
        // The same look finds a socket where there is one.
        let address = crate::ops::metrics::free_address();
        let config = json!({"default_model": "scripted-model", "webhooks": {"listen": address}});
        std::fs::write(world.home().join("config.json"), config.to_string()).unwrap();
        world.restarts().await;
        world
            .becomes("the listener", || listening(world.pid()).len() == 1)
            .await;
    })
    .await;
}

/// The sockets of a process that listen for TCP.
fn listening(pid: u32) -> Vec<String> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = links.flatten().filter_map(|link| {
        let target = std::fs::read_link(link.path()).ok()?;
        let target = target.to_str()?.strip_prefix("socket:[")?.to_owned();
        Some(target.strip_suffix(']')?.to_owned())
    });
    let inodes: Vec<String> = links.collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_own = inodes.iter().any(|inode| inode == fields[9]);
            if fields[3] == "0A" && is_own {
                found.push(fields[1].to_owned());
            }
        }
    }
    found
}

#[test]
fn a_public_address_and_a_missing_key_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let checks = |config: serde_json::Value| {
        std::fs::write(home.path().join("config.json"), config.to_string()).unwrap();
        seen(&mut chorus(home.path(), &["check-config"]))
    };
    let public = checks(json!({"webhooks": {"listen": "0.0.0.0:8080"}}));
    assert_eq!(public.code, 78, "{}", public.err);
    for proxy in ["reverse_proxy", "tailscale funnel", "cloudflared"] {
        assert!(public.err.contains(proxy), "{}", public.err);
    }
    let missing = checks(json!({"webhooks": {"listen": "127.0.0.1:8080"}}));
    assert_eq!(missing.code, 78, "{}", missing.err);
    assert!(missing.err.contains("WEBHOOK_KEY"), "{}", missing.err);
    let is_bad = checks(json!({"webhooks": {"public_url": "chorus.example.org"}}));
    assert!(
        is_bad.err.contains("https://chorus.example.org"),
        "{}",
        is_bad.err
    );
}
