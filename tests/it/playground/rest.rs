//! The local Discord's REST, asked directly: its limits, errors and pages are Discord's own.

use chorus_playground::{Discord, Limits, Options, Person, Rights};
use chrono::{TimeDelta, Utc};
use reqwest::Method;
use serde_json::{Value, json};

/// A bot without a library: it sends what it is told to.
struct Caller {
    discord: Discord,
    client: reqwest::Client,
}

impl Caller {
    async fn new() -> Self {
        Self {
            discord: Discord::start(Options::default()).await.unwrap(),
            client: reqwest::Client::new(),
        }
    }

    async fn asks(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}/api/v10{path}", self.discord.base_url());
        let request = self.client.request(method, url);
        let request = request.header("authorization", format!("Bot {}", self.discord.token()));
        let response = request.json(&body).send().await.unwrap();
        (
            response.status().as_u16(),
            response.json().await.unwrap_or(Value::Null),
        )
    }

    async fn sends(&self, body: Value) -> (u16, Value) {
        let general = self.discord.channel("#general").unwrap();
        self.asks(Method::POST, &format!("/channels/{general}/messages"), body)
            .await
    }

    fn ann(&self) -> Person {
        self.discord.user("ann")
    }
}

#[tokio::test]
async fn a_message_over_a_limit_is_refused_and_the_field_is_named() {
    let caller = Caller::new().await;
    let text = |length: usize| "ä".repeat(length);
    let button = |id: &str| json!({"type": 2, "style": 1, "label": "x", "custom_id": id});
    let row = |parts: Vec<Value>| json!({"type": 1, "components": parts});
    let rows = |count: usize| {
        (0..count)
            .map(|n| row(vec![button(&n.to_string())]))
            .collect::<Vec<_>>()
    };
    let field = json!({"name": "n", "value": "v"});
    let cases = [
        (json!({"content": text(2_001)}), "content"),
        (json!({"embeds": [{"description": text(4_097)}]}), "embeds"),
        (json!({"embeds": [{"title": text(257)}]}), "embeds"),
        (json!({"embeds": [{"fields": vec![field; 26]}]}), "embeds"),
        (
            json!({"embeds": [{"fields": [{"name": "n", "value": text(1_025)}]}]}),
            "embeds",
        ),
        (
            json!({"embeds": [{"description": text(4_000)}, {"description": text(2_001)}]}),
            "embeds",
        ),
        (json!({"components": rows(6)}), "components"),
        (
            json!({"components": [row((0..6).map(|n| button(&n.to_string())).collect())]}),
            "components",
        ),
        (
            json!({"components": [row(vec![button("same"), button("same")])]}),
            "components",
        ),
        (
            json!({"content": "x", "message_reference": {"message_id": "5"}}),
            "message_reference",
        ),
    ];
    for (body, field) in cases {
        let (status, answer) = caller.sends(body).await;
        assert_eq!((status, &answer["code"]), (400, &json!(50035)), "{answer}");
        assert!(!answer["errors"][field].is_null(), "{answer}");
    }
    assert_eq!(
        caller.sends(json!({"content": "  "})).await.1["code"],
        50006
    );
    assert_eq!(caller.sends(json!({"content": text(2_000)})).await.0, 200);
    let reply = json!({"content": "x", "message_reference": {"message_id": "5", "fail_if_not_exists": false}});
    assert_eq!(caller.sends(reply).await.0, 200);
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed_has_discords_own_number() {
    let caller = Caller::new().await;
    let discord = &caller.discord;
    let general = discord.channel("#general").unwrap();
    let hidden = discord.add_channel(discord.guild(), "hidden");
    let quiet = discord.add_channel(discord.guild(), "quiet");
    discord.denies_bot(hidden, Rights::VIEW_CHANNEL);
    discord.denies_bot(quiet, Rights::SEND_MESSAGES);
    let anns = caller.ann().says(general, "mine");
    let direct = discord.user("bob").direct_messages();
    discord.user("bob").closes_direct_messages();
    let hello = json!({"content": "hello"});
    let cases = [
        (Method::GET, "/channels/1".to_owned(), 404, 10003),
        (
            Method::GET,
            format!("/channels/{general}/messages/1"),
            404,
            10008,
        ),
        (
            Method::PATCH,
            format!("/channels/{general}/messages/{anns}"),
            403,
            50005,
        ),
        (Method::GET, format!("/channels/{hidden}"), 403, 50001),
        (
            Method::POST,
            format!("/channels/{quiet}/messages"),
            403,
            50013,
        ),
        (
            Method::POST,
            format!("/channels/{direct}/messages"),
            403,
            50007,
        ),
        (
            Method::PUT,
            format!("/channels/{general}/permissions/1"),
            403,
            50013,
        ),
        (Method::GET, "/guilds/1".to_owned(), 404, 10004),
        (Method::GET, "/users/1".to_owned(), 404, 10013),
        (
            Method::POST,
            "/interactions/1/none/callback".to_owned(),
            404,
            10062,
        ),
        (Method::POST, "/webhooks/1/none".to_owned(), 404, 10015),
    ];
    for (method, path, status, code) in cases {
        let (seen, answer) = caller.asks(method, &path, hello.clone()).await;
        assert_eq!(
            (seen, &answer["code"]),
            (status, &json!(code)),
            "{path}: {answer}"
        );
    }
    assert_eq!(discord.unknown_routes(), Vec::<String>::new());
    assert_eq!(
        caller
            .asks(Method::GET, "/voice/regions", json!({}))
            .await
            .0,
        404
    );
    assert_eq!(discord.unknown_routes(), ["GET /voice/regions"]);
}

#[tokio::test]
async fn messages_come_in_pages_newest_first() {
    let caller = Caller::new().await;
    let general = caller.discord.channel("#general").unwrap();
    let ids: Vec<_> = (1..=5)
        .map(|n| caller.ann().says(general, &n.to_string()))
        .collect();
    let page = async |query: String| {
        let (_, list) = caller
            .asks(
                Method::GET,
                &format!("/channels/{general}/messages?{query}"),
                json!({}),
            )
            .await;
        let texts = list
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["content"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>().join("")
    };

    assert_eq!(page("limit=2".to_owned()).await, "54");
    assert_eq!(
        page(format!("after={}&limit=2", ids[0])).await,
        "32",
        "the oldest after it"
    );
    assert_eq!(page(format!("before={}", ids[2])).await, "21");
    assert_eq!(page(format!("around={}&limit=3", ids[2])).await, "432");
}

#[tokio::test]
async fn many_messages_go_at_once_but_no_old_ones() {
    let caller = Caller::new().await;
    let general = caller.discord.channel("#general").unwrap();
    let old = caller
        .ann()
        .said_at(general, "old", Utc::now() - TimeDelta::days(15));
    let new = [
        caller.ann().says(general, "a"),
        caller.ann().says(general, "b"),
    ]
    .map(|id| id.to_string());
    let path = format!("/channels/{general}/messages/bulk-delete");

    let refused = caller
        .asks(
            Method::POST,
            &path,
            json!({"messages": [old.to_string(), new[0]]}),
        )
        .await;
    let single = caller
        .asks(Method::POST, &path, json!({"messages": [new[0]]}))
        .await;
    let done = caller
        .asks(Method::POST, &path, json!({"messages": new}))
        .await;

    assert_eq!(
        (refused.1["code"].clone(), single.1["code"].clone(), done.0),
        (json!(50034), json!(50035), 204)
    );
    assert_eq!(caller.discord.transcript(general), "ann: old");
}

#[tokio::test]
async fn too_many_messages_are_refused_when_limits_hold() {
    let caller = Caller::new().await;
    for _ in 0..6 {
        assert_eq!(
            caller.sends(json!({"content": "x"})).await.0,
            200,
            "limits are off at first"
        );
    }
    caller.discord.limits(Limits::Real);

    // Five go through in a window; only a machine that takes five seconds for five of them would see no refusal.
    let mut refused = None;
    for _ in 0..100 {
        let (status, body) = caller.sends(json!({"content": "x"})).await;
        if status == 429 {
            refused = Some(body);
            break;
        }
    }

    let refused = refused.expect("no request was refused");
    assert!(
        refused["retry_after"].as_f64().unwrap() > 0.0 && refused["global"] == false,
        "{refused}"
    );
}

#[tokio::test]
async fn nothing_pings_unless_it_is_allowed_to() {
    let caller = Caller::new().await;
    let general = caller.discord.channel("#general").unwrap();
    let text = format!("@everyone <@{}>", caller.ann().id);

    caller.sends(json!({"content": text})).await;
    caller
        .sends(json!({"content": text, "allowed_mentions": {"parse": []}}))
        .await;

    let pings: Vec<_> = caller
        .discord
        .messages(general)
        .into_iter()
        .map(|one| one.pings)
        .collect();
    assert_eq!(
        pings,
        [vec!["@everyone".to_owned(), "ann".to_owned()], vec![]]
    );
}

#[tokio::test]
async fn a_thread_hangs_on_its_message_and_goes_with_its_channel() {
    let caller = Caller::new().await;
    let discord = &caller.discord;
    let lab = discord.add_channel(discord.guild(), "lab");
    let message = caller.ann().says(lab, "let us talk");
    let path = format!("/channels/{lab}/messages/{message}/threads");

    let (status, thread) = caller
        .asks(Method::POST, &path, json!({"name": "talk"}))
        .await;
    let twice = caller
        .asks(Method::POST, &path, json!({"name": "talk"}))
        .await;

    assert_eq!(
        (status, thread["id"].as_str()),
        (200, Some(message.to_string().as_str()))
    );
    assert_eq!(twice.1["code"], 160_004);
    let archive = json!({"archived": true});
    caller
        .asks(Method::PATCH, &format!("/channels/{message}"), archive)
        .await;
    let active = caller
        .asks(
            Method::GET,
            &format!("/guilds/{}/threads/active", discord.guild()),
            json!({}),
        )
        .await;
    assert_eq!(active.1["threads"], json!([]));
    caller
        .asks(Method::DELETE, &format!("/channels/{lab}"), json!({}))
        .await;
    assert_eq!(discord.channel("talk"), None);
}

#[tokio::test]
async fn an_answer_to_a_command_is_shown_to_who_asks_for_it_in_words_or_digits() {
    let caller = Caller::new().await;
    let (sender, events) = std::sync::mpsc::channel();
    caller.discord.alters_events(move |name, data| {
        if name == "INTERACTION_CREATE" {
            sender.send(data.clone()).unwrap();
        }
    });
    let command = json!([{"name": "hello", "description": "Says hello", "type": 1}]);
    let commands = format!("/applications/{}/commands", caller.discord.bot());
    caller.asks(Method::PUT, &commands, command).await;
    let general = caller.discord.channel("#general").unwrap();

    for (asked, expected) in [("true", 200), ("1", 200), ("True", 200), ("false", 204)] {
        caller.ann().runs(general, "/hello", &[]).unwrap();
        let event = events.recv().unwrap();
        let part = |name: &str| event[name].as_str().unwrap().to_owned();
        let (id, token) = (part("id"), part("token"));
        let path = format!("/interactions/{id}/{token}/callback?with_response={asked}");
        let answer = json!({"type": 4, "data": {"content": "hi"}});
        let (status, body) = caller.asks(Method::POST, &path, answer).await;

        assert_eq!(status, expected, "with_response={asked}");
        let shown = body["resource"]["message"]["content"].as_str();
        assert_eq!(shown, (expected == 200).then_some("hi"));
    }
}
