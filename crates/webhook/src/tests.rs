use base64::Engine as _;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::*;
use crate::secret::{hex, mac};

fn at() -> DateTime<Utc> {
    "2026-11-26T12:00:00Z".parse().unwrap()
}

fn key() -> Key {
    Key::from_hex(&"0123456789abcdef".repeat(4)).unwrap()
}

fn verified(
    kind: Kind,
    secrets: &[Secret],
    headers: &[(&'static str, String)],
    body: &[u8],
    at: DateTime<Utc>,
) -> Option<String> {
    let header = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    };
    kind.verify(
        secrets,
        &Delivery {
            header: &header,
            body,
            at,
        },
    )
}

#[test]
fn githubs_published_signature_is_found() {
    let signature = mac(b"It's a Secret to Everybody", &[b"Hello, World!"]);
    assert_eq!(
        hex(&signature),
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

#[test]
fn the_published_signature_of_standard_webhooks_is_found() {
    let base64 = base64::engine::general_purpose::STANDARD;
    let secret = base64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let signature = mac(
        &secret,
        &[
            b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.",
            br#"{"test": 2432232314}"#,
        ],
    );
    assert_eq!(
        base64.encode(signature),
        "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    );
}

#[test]
fn each_kind_takes_its_own_signature_and_no_other() {
    let body = br#"{"a":1}"#;
    let (right, wrong) = (key().secret("ab", 1), key().secret("ab", 2));
    for kind in Kind::ALL {
        let headers = kind.sign(&right, "d1", "push", body, at());
        let id = verified(kind, std::slice::from_ref(&right), &headers, body, at());
        assert!(id.is_some(), "{kind}");
        assert_eq!(
            verified(kind, &[wrong.clone(), right.clone()], &headers, body, at()),
            id,
            "the second of two secrets"
        );
        assert_eq!(
            verified(kind, std::slice::from_ref(&wrong), &headers, body, at()),
            None,
            "{kind}"
        );
        assert_eq!(verified(kind, &[], &headers, body, at()), None, "{kind}");
        assert_eq!(
            verified(kind, std::slice::from_ref(&right), &[], body, at()),
            None,
            "{kind}"
        );
        match kind {
            Kind::Bearer => assert_eq!(id.unwrap().len(), 64),
            _ => {
                assert_eq!(id.as_deref(), Some("d1"));
                assert_eq!(
                    verified(
                        kind,
                        std::slice::from_ref(&right),
                        &headers,
                        br#"{"a":0}"#,
                        at()
                    ),
                    None,
                    "{kind}"
                );
            }
        }
        for index in 0..headers[0].1.len() {
            let mut bytes = headers[0].1.clone().into_bytes();
            bytes[index] ^= 4;
            let Ok(value) = String::from_utf8(bytes) else {
                continue;
            };
            let mut forged = headers.clone();
            // Names of schemes have no case, and neither have hexadecimal digits; 4 changes no case.
            forged[0].1 = value;
            assert_eq!(
                verified(kind, std::slice::from_ref(&right), &forged, body, at()),
                None,
                "{kind} {forged:?}"
            );
        }
    }
}

#[test]
fn gitea_may_sign_as_github_does_and_a_password_may_be_the_secret() {
    let secret = key().secret("ab", 1);
    let body = b"{}";
    let headers = Kind::Github.sign(&secret, "d1", "push", body, at());
    assert!(
        verified(
            Kind::Gitea,
            std::slice::from_ref(&secret),
            &headers,
            body,
            at()
        )
        .is_some()
    );
    let password = base64::engine::general_purpose::STANDARD
        .encode(format!("me:{}", secret.shown(Kind::Bearer)));
    let basic = [("authorization", format!("Basic {password}"))];
    assert!(verified(Kind::Bearer, &[secret], &basic, body, at()).is_some());
}

#[test]
fn a_standard_delivery_is_fresh() {
    let secret = key().secret("ab", 1);
    let headers = Kind::Standard.sign(&secret, "d1", "", b"{}", at());
    for (minutes, fresh) in [(-6, false), (-5, true), (5, true), (6, false)] {
        let arrives = at() + TimeDelta::minutes(minutes);
        assert_eq!(
            verified(
                Kind::Standard,
                std::slice::from_ref(&secret),
                &headers,
                b"{}",
                arrives
            )
            .is_some(),
            fresh,
            "{minutes}"
        );
    }
}

#[test]
fn secrets_are_shown_as_they_are_entered() {
    let secret = key().secret("0123", 1);
    assert!(secret.shown(Kind::Standard).starts_with("whsec_"));
    assert_eq!(secret.shown(Kind::Github).len(), 64);
    assert_ne!(
        secret.shown(Kind::Github),
        key().secret("0123", 2).shown(Kind::Github)
    );
    assert_eq!(format!("{secret:?}{:?}", key()), "Secret(…)Key(…)");
    for text in ["", "xyz", &"0".repeat(63), &"g".repeat(64)] {
        assert!(Key::from_hex(text).is_err());
    }
}

#[test]
fn events_and_values_are_filtered() {
    let payload = |kind, event, body: serde_json::Value| {
        Payload::new(kind, event, body.to_string().as_bytes())
    };
    let opened = payload(
        Kind::Github,
        Some("issues"),
        json!({"action": "opened", "ref": "main", "n": 5}),
    );
    let wants = |events, value| {
        Filter::new(Kind::Github, events, value)
            .unwrap()
            .wants(&opened)
    };
    assert!(wants(None, None));
    assert!(wants(Some("push, issues.opened"), None));
    assert!(wants(Some("issues.*"), Some("/ref=main")));
    assert!(wants(Some("issues"), Some("/n=5")));
    assert!(!wants(Some("issue.*"), None));
    assert!(!wants(Some("issues.closed"), None));
    assert!(!wants(None, Some("/ref=dev")));
    assert!(!wants(None, Some("/missing=")));
    let paid = payload(Kind::Standard, None, json!({"type": "invoice.paid"}));
    assert!(
        Filter::new(Kind::Standard, Some("invoice.paid"), None)
            .unwrap()
            .wants(&paid)
    );
    for (kind, events, value) in [
        (Kind::Bearer, Some("push"), None),
        (Kind::Github, Some("push,"), None),
        (Kind::Github, Some("a b"), None),
        (Kind::Github, None, Some("/ref")),
        (Kind::Github, None, Some("ref=main")),
    ] {
        assert!(
            Filter::new(kind, events, value).is_err(),
            "{events:?} {value:?}"
        );
    }
}

#[test]
fn a_forges_event_is_a_few_lines() {
    let body = json!({
        "action": "created",
        "issue": {"number": 7, "title": "It breaks\nand more", "html_url": "https://x/7", "body": "not this"},
        "comment": {"html_url": "https://x/7#c", "body": (1..40).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n")},
        "repository": {"full_name": "o/r"},
        "sender": {"login": "ann"},
    });
    let text = Payload::new(
        Kind::Github,
        Some("issue_comment"),
        body.to_string().as_bytes(),
    )
    .render();
    assert!(text.starts_with("event: issue_comment created\nrepository: o/r\ntitle: #7 It breaks\nactor: ann\nlink: https://x/7#c\ntext:\n  line 1\n"), "{text}");
    assert_eq!(text.lines().count(), 21);
    assert!(text.ends_with("\n…"));
}

#[test]
fn a_rendering_has_a_bound_and_no_broken_letter() {
    let body = json!({"text": "ä".repeat(10_000)}).to_string();
    for kind in Kind::ALL {
        let text = Payload::new(kind, Some("push"), body.as_bytes()).render();
        assert!(text.len() <= 4096, "{}", text.len());
    }
    assert_eq!(
        Payload::new(Kind::Bearer, None, b"disk \xff full").render(),
        "disk \u{fffd} full"
    );
}

#[test]
fn a_sample_is_rendered() {
    for kind in Kind::ALL {
        let (event, body) = sample(kind);
        let payload = Payload::new(
            kind,
            Some(event).filter(|event| !event.is_empty()),
            body.as_bytes(),
        );
        assert!(
            payload.render().contains("/hook test"),
            "{}",
            payload.render()
        );
    }
}
