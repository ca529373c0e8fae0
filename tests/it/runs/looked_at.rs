//! A run is looked at: as text, data, a page and a picture, which agree with each other and with what the ledger says was spent.

use chorus::drawing;
use chorus_playground::model::wire::{Block, Reply};
use chorus_playground::{Message, Rights};
use serde_json::{Value, json};
use std::io::Cursor;

use super::{assignment, charter, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Actor, Setup, World};

const REVIEWER: &str = "---
name: reviewer
description: Reviews a change.
sub_agents: [explore]
---
You review changes and nothing else.
";

/// A world in which a token of output costs a tenth of a cent.
fn priced() -> Setup {
    Setup {
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000}}}),
        ..Setup::default()
    }
}

fn says(text: &str, tokens: u64) -> Reply {
    Reply {
        output_tokens: tokens,
        ..Reply::new(vec![Block::Text(text.to_owned())])
    }
}

/// The answer to a command of Ann with its file.
pub(super) async fn file(world: &World, typed: &str) -> Vec<u8> {
    file_for(world, &world.ann, typed).await
}

/// The same for somebody else.
pub(super) async fn file_for(world: &World, person: &Actor, typed: &str) -> Vec<u8> {
    let run = person.runs(typed, "#lab").await;
    let answer: Message = world
        .waits(&format!("a file from {typed}"), |world| {
            let mut replies = world.discord.replies_to(run).into_iter();
            replies.find(|reply| !reply.attachments.is_empty())
        })
        .await;
    world.discord.file(&answer.attachments[0])
}

/// The latest run of `#lab` as JSON.
async fn latest(world: &World) -> Value {
    serde_json::from_slice(&file(world, "/run show format:json").await).unwrap()
}

/// All nodes of a run.
fn nodes(node: &Value) -> Vec<&Value> {
    let below = node["children"].as_array().unwrap().iter();
    std::iter::once(node).chain(below.flat_map(nodes)).collect()
}

/// All forms of the latest run tell the same, and it is what the ledger has; gives the run.
async fn all_agree(world: &World) -> Value {
    let run = latest(world).await;
    let schema = jsonschema::validator_for(&drawing::run_schema()).unwrap();
    let faults: Vec<String> = schema
        .iter_errors(&run)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:?} in {run}");
    let id = run["run"].as_str().unwrap();
    let short = &id[id.len() - 8..];

    let spent = "SELECT run_id || ' ' || printf('%.6f', total(cost_usd)) || ' ' || sum(input) || ' ' || sum(output)
        FROM attempts WHERE provider <> '' GROUP BY run_id";
    let spent = world.ledger(spent).await;
    let root = &run["node"];
    let told = format!(
        "{id} {:.6} {} {}",
        root["cost_usd"].as_f64().unwrap(),
        root["usage"]["input"],
        root["usage"]["output"]
    );
    assert!(spent.contains(&told), "{told} in {spent:?}");
    let own: f64 = nodes(root)
        .iter()
        .map(|node| node["own_cost_usd"].as_f64().unwrap())
        .sum();
    let ops: f64 = nodes(root)
        .iter()
        .flat_map(|node| node["ops"].as_array().unwrap())
        .map(|op| op["cost_usd"].as_f64().unwrap_or_default())
        .sum();
    let total = root["cost_usd"].as_f64().unwrap();
    assert!(
        (own - total).abs() < 1e-9 && (ops - total).abs() < 1e-9,
        "{own} {ops} {run}"
    );

    let text = world.ann.asks("/run show", "#lab").await;
    assert!(
        text.contains(&format!("run {short} · lab · ann: “")),
        "{text}"
    );
    let exit = root["exit"].as_str().unwrap().replace('_', " ");
    assert!(text.contains(&exit), "{exit} in {text}");

    let lines = String::from_utf8(file(world, "/run show format:jsonl").await).unwrap();
    let events: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let page = String::from_utf8(file(world, "/run show format:html").await).unwrap();
    assert!(page.contains(short) && !page.contains("<script"), "{page}");
    for node in nodes(root) {
        let of = |names: &[&str]| {
            let all = events.iter().filter(|one| one["turn"] == node["turn"]);
            all.filter(|one| names.contains(&one["event"].as_str().unwrap()))
                .count()
        };
        assert_eq!(of(&["agent_started"]), 1, "{lines}");
        assert_eq!(of(&["agent_finished", "agent_failed"]), 1, "{lines}");
        let calls = node["ops"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|op| op["kind"] == "tool")
            .count();
        assert_eq!(of(&["tool_started"]), calls, "{lines}");
        assert_eq!(of(&["tool_finished"]), calls, "{lines}");
        if let Some(role) = node["role"].as_str() {
            let line = format!("{} {role}", node["kind"].as_str().unwrap());
            assert!(
                text.contains(&line) && page.contains(&line),
                "{line} in {text}"
            );
        }
    }
    let picture = file(world, "/run show format:picture").await;
    let (width, rows) = rows_with_a_bar(&picture);
    assert_eq!((width, rows), (1_600, nodes(root).len()));
    run
}

/// The width of a picture, and how many rows of its time line hold a bar.
fn rows_with_a_bar(png: &[u8]) -> (u32, usize) {
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let pixel = |x: u32, y: u32| {
        let at = (y * info.width + x) as usize * 3;
        [pixels[at], pixels[at + 1], pixels[at + 2]]
    };
    // Paper, and the thin lines that mark times.
    let is_bar = |x: u32, y: u32| ![[0x1e, 0x1f, 0x22], [0x3f, 0x41, 0x47]].contains(&pixel(x, y));
    let rows = (info.height - 150) / 44;
    let bars = (0..rows).filter(|row| (470..1_580).any(|x| is_bar(x, 150 + row * 44 + 22)));
    (info.width, bars.count())
}

#[tokio::test]
async fn a_plain_one() {
    run_test_with(priced(), async |world| {
        world
            .model
            .calls_tool("create_file", json!({"path": "a.txt", "content": "plum"}));
        world.model.replies(says("It is there.", 40));
        world.ann.says("#lab", "write a plum").await;
        world.sees("#lab", "It is there.").await;
        let run = all_agree(world).await;
        let node = &run["node"];
        assert_eq!(node["kind"], "turn");
        assert_eq!(node["path"], "lab");
        assert_eq!(node["title"], "write a plum");
        assert_eq!(node["exit"], "answered");
        assert_eq!(node["exit_code"], "EXIT-FINAL-ANSWER");
        assert_eq!(node["steps"], 2);
        let ops: Vec<&str> = node["ops"]
            .as_array()
            .unwrap()
            .iter()
            .map(|op| op["kind"].as_str().unwrap())
            .collect();
        assert_eq!(ops, ["begin", "model", "tool", "model", "report"]);
        let begin = node["ops"][0]["preview"].as_str().unwrap();
        assert!(
            begin.starts_with("models anthropic/scripted-model · tools view, ")
                && begin.contains(" · at most "),
            "{begin}"
        );
        let call = &node["ops"][2];
        assert_eq!(
            (&call["name"], &call["outcome"], &call["decision"]),
            (&json!("create_file"), &json!("ok"), &json!("allow"))
        );
        assert!(call["preview"].as_str().unwrap().contains("plum"), "{call}");
        assert_eq!(node["ops"][4]["preview"], "It is there.");
        assert_eq!(run["asked_by"], "ann");
        assert_eq!(run["gaps"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn one_with_children_and_theirs() {
    run_test_with(priced(), async |world| {
        charter(world, "reviewer", REVIEWER);
        world.model.calls(&[assignment("reviewer", "Review it.")]);
        world.model.calls(&[assignment("explore", "Look.")]);
        world
            .model
            .replies(says("Looked.", 10))
            .replies(says("Reviewed.", 20))
            .replies(says("All well.", 30));
        world.ann.says("#lab", "make the tests pass").await;
        let seen = world.sees("#lab", "All well.").await;
        let run = all_agree(world).await;
        let paths: Vec<&str> = nodes(&run["node"])
            .iter()
            .map(|node| node["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["lab", "lab/reviewer", "lab/reviewer/explore"]);
        // The same in the channel.
        let id = run["run"].as_str().unwrap();
        assert!(
            seen.contains(&format!("run {}", &id[id.len() - 8..])),
            "{seen}"
        );
        let reviewer = &run["node"]["children"][0];
        assert_eq!(reviewer["title"], "about Review it.");
        assert_eq!(reviewer["parent"], run["run"]);
        let sha = reviewer["role_sha256"].as_str().unwrap();
        assert_eq!(sha.len(), 64);
        let text = world.ann.asks("/run show", "#lab").await;
        assert!(
            text.contains(
                "└ sub_agent reviewer “about Review it.” · scripted-model · 2 steps, 1 call · "
            ),
            "{text}"
        );
        assert!(
            text.contains("   └ sub_agent explore “about Look.” · "),
            "{text}"
        );
        let listed = world.ann.asks("/run list", "#lab").await;
        assert!(
            listed.contains("ann: “make the tests pass” · answered · 2 steps · 2 sub-agents"),
            "{listed}"
        );
    })
    .await;
}

#[tokio::test]
async fn one_that_failed_and_one_that_was_aborted() {
    run_test_with(priced(), async |world| {
        world.model.fails_with(
            401,
            json!({"error": {"type": "authentication_error", "message": "no"}}),
        );
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "I could not get an answer").await;
        let run = all_agree(world).await;
        assert_eq!(run["node"]["exit_code"], "EXIT-AUTH-FAILURE");
        world.restarts().await;

        world
            .model
            .calls(&[assignment("general", "One."), assignment("general", "Two.")]);
        let thoughts = [world.model.is_thinking(), world.model.is_thinking()];
        world.ann.says("#lab", "go").await;
        world.model.was_asked(4).await;
        world.ann.clicks("#lab", "Abort").await;
        world.sees("#lab", "2 sub-agents were ended with it").await;
        drop(thoughts);
        let run = all_agree(world).await;
        for node in nodes(&run["node"]) {
            assert_eq!(node["exit"], "aborted");
            assert_eq!(node["exit_code"], "EXIT-SIGNAL-RECEIVED");
        }
    })
    .await;
}

#[tokio::test]
async fn one_that_a_stop_of_the_daemon_interrupted() {
    run_test_with(priced().by_hand(), async |world| {
        world.model.calls(&[assignment("general", "One.")]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        let running = world.ann.asks("/run show", "#lab").await;
        assert!(
            running.contains("· running · ") && running.contains("└ sub_agent general"),
            "{running}"
        );
        world.restarts().await;
        drop(thought);
        let run = all_agree(world).await;
        let exits: Vec<&str> = nodes(&run["node"])
            .iter()
            .map(|node| node["exit"].as_str().unwrap())
            .collect();
        assert_eq!(exits, ["interrupted", "interrupted"]);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_missing_or_hidden_from_the_asker_is_reported_as_missing() {
    run_test_with(priced(), async |world| {
        world.exchange("hello", "Hello.").await;
        let id = world
            .ledger("SELECT substr(id, -8) FROM turns")
            .await
            .remove(0);
        let named = format!("/run show id:{id}");
        assert!(
            world
                .bob
                .asks(&named, "#general")
                .await
                .contains("ann: “hello”")
        );
        let vip = world.ann.person.gets_role("vip", Rights::default());
        world.edits_agent_json("lab", json!({"access_roles": [vip.0]}));
        let none = |id: &str| format!("There is no run `{id}` here.");
        for (id, who) in [
            (id.as_str(), &world.bob),
            ("deadbeef", &world.bob),
            ("deadbeef", &world.ann),
            ("x", &world.ann),
            ("%", &world.ann),
        ] {
            let told = who.asks(&format!("/run show id:{id}"), "#general").await;
            assert!(told.contains(&none(id)), "{told}");
        }
        assert!(
            world
                .ann
                .asks(&named, "#general")
                .await
                .contains("ann: “hello”")
        );
        // An id of another server.
        world.stops().await;
        let elsewhere = "UPDATE agents SET guild_id = guild_id + 1 WHERE name = 'lab'";
        world.changes_ledger(elsewhere).await;
        world.starts().await;
        let told = world.ann.asks(&named, "#general").await;
        assert!(told.contains(&none(&id)), "{told}");
    })
    .await;
}

#[tokio::test]
async fn runs_are_offered_by_their_first_words_and_listed_in_pages() {
    run_test_with(priced(), async |world| {
        for number in 0..12 {
            world
                .exchange(
                    &format!("plant tree {number}"),
                    &format!("Planted {number}."),
                )
                .await;
        }
        let offered = world
            .ann
            .completes("/run show id:plant tree 7", "id", "#lab")
            .await;
        assert_eq!(offered.len(), 1, "{offered:?}");
        assert!(offered[0].starts_with("plant tree 7 · "), "{offered:?}");
        let listed = world.ann.asks("/run list agent:lab", "#general").await;
        assert!(
            listed.contains("“plant tree 11”") && !listed.contains("“plant tree 1”"),
            "{listed}"
        );
        world.ann.clicks("#general", "Next").await;
        let general = world.channel("#general");
        world
            .waits("the second page", |world| {
                let mut all = world.discord.messages(general).into_iter();
                all.find(|one| world.discord.shown(one).contains("“plant tree 1”"))
            })
            .await;
        // Without an id, the latest of this channel.
        let shown = world.ann.asks("/run show", "#lab").await;
        assert!(shown.contains("“plant tree 11”"), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn what_does_not_read_back_is_named_and_the_rest_is_shown() {
    run_test_with(priced(), async |world| {
        world.model.calls(&[assignment("explore", "Look.")]);
        world.model.answers("Looked.").answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
        world.stops().await;
        let damage = "UPDATE items SET body = '{' WHERE role = 'tool_result';
            UPDATE calls SET started_at = 'long ago';
            UPDATE attempts SET outcome = 'plum' WHERE id = (SELECT max(id) FROM attempts WHERE turn_id IS NOT NULL);
            UPDATE inbound SET body = '{' WHERE state = 'claimed';";
        world.changes_ledger(damage).await;
        world.starts().await;
        let run = latest(world).await;
        assert_eq!(nodes(&run["node"]).len(), 2, "{run}");
        for table in ["items", "calls", "attempts", "inbound"] {
            let gap = format!("1 row of the table {table} cannot be read and is left out.");
            assert!(
                run["gaps"].as_array().unwrap().contains(&json!(gap)),
                "{}",
                run["gaps"]
            );
        }
        let text = world.ann.asks("/run show", "#lab").await;
        assert!(
            text.contains("Gap: 1 row of the table calls") && text.contains("sub_agent explore"),
            "{text}"
        );
        // The turn of the child, too: what is below the root is found all the same.
        world.stops().await;
        let damage = "UPDATE turns SET began_at = 'long ago' WHERE kind = 'turn'";
        world.changes_ledger(damage).await;
        world.starts().await;
        let id = world.ledger("SELECT run_id FROM turns").await.remove(0);
        let text = world.ann.asks(&format!("/run show id:{id}"), "#lab").await;
        assert!(
            text.contains("The turn at the root cannot be read")
                && text.contains("sub_agent explore"),
            "{text}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_run_of_ten_thousand_rows_is_shown_in_every_form() {
    // Its row does not say what was put beside it.
    crate::world::run_test_with(priced(), async |world| {
        world.exchange("count", "Counted.").await;
        world.stops().await;
        let many = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
            INSERT INTO attempts (at, guild_id, agent_id, turn_id, kind, provider, model, outcome, input, output, cache_read, cache_write, cost_usd, millis, run_id)
            SELECT at, guild_id, agent_id, turn_id, kind, provider, model, outcome, 1, 1, 0, 0, 0.0001, 1, run_id FROM attempts, n WHERE run_id IS NOT NULL;";
        world.changes_ledger(many).await;
        world.starts().await;
        let run = latest(world).await;
        let cost = run["node"]["cost_usd"].as_f64().unwrap();
        let sum = world.ledger("SELECT printf('%.4f', sum(cost_usd)) FROM attempts WHERE run_id IS NOT NULL").await;
        assert_eq!([format!("{cost:.4}")], sum.as_slice());
        let page = file(world, "/run show format:html").await;
        assert!(page.len() < 8 << 20, "{}", page.len());
        assert_eq!(rows_with_a_bar(&file(world, "/run show format:picture").await), (1_600, 1));
        assert!(!file(world, "/run show format:jsonl").await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn what_works_in_a_channel_that_somebody_does_not_see_shows_its_name_and_its_cost() {
    run_test_with(priced(), async |world| {
        world.makes_agent("docs").await;
        world.model.calls(&[assignment("@docs", "the secret plan")]);
        world
            .model
            .replies(says("Plums.", 20))
            .replies(says("They plant plums.", 10));
        world.ann.says("#lab", "ask docs").await;
        world.sees("#lab", "They plant plums.").await;
        let for_all = world.bob.asks("/run show", "#lab").await;
        assert!(
            for_all.contains(r"sub_agent \@docs “about the secret plan”"),
            "{for_all}"
        );
        let docs = world.channel("#docs");
        world
            .discord
            .denies(docs, world.bob.id(), Rights::VIEW_CHANNEL);
        let for_bob = world.bob.asks("/run show", "#lab").await;
        assert!(
            for_bob.contains(r"└ sub_agent \@docs · $0.0") && !for_bob.contains("secret"),
            "{for_bob}"
        );
        let for_ann = world.ann.asks("/run show", "#lab").await;
        assert!(for_ann.contains("secret plan"), "{for_ann}");
    })
    .await;
}

#[tokio::test]
async fn what_an_agent_did_is_shown_to_those_alone_who_may_talk_to_it() {
    run_test_with(priced(), async |world| {
        world.makes_agent("docs").await;
        let vip = world.ann.person.gets_role("vip", Rights::default());
        world.edits_agent_json("docs", json!({"access_roles": [vip.0]}));
        let plan = world.workspace("docs").join("plan.txt");
        std::fs::write(plan, "plant quagga trees\n").unwrap();
        charter(
            world,
            "reviewer",
            "---\nname: reviewer\ndescription: Reviews.\nsub_agents: ['@docs']\n---\nYou review.\n",
        );
        world.model.calls(&[assignment("@docs", "the quagga")]);
        world.model.calls_tool("view", json!({"path": "plan.txt"}));
        world
            .model
            .replies(says("The plan is quagga.", 20))
            .replies(says("They plant something.", 10));
        world.ann.says("#lab", "ask docs").await;
        world.sees("#lab", "They plant something.").await;
        let reason = "is not shown: you have no access to that agent";
        for format in ["html", "json", "jsonl"] {
            let typed = format!("/run show format:{format}");
            let shown = String::from_utf8(file_for(world, &world.bob, &typed).await).unwrap();
            assert!(
                !shown.contains("quagga") && !shown.contains("plan.txt"),
                "{format}: {shown}"
            );
            assert!(shown.contains(reason), "{format}: {shown}");
            let shown = String::from_utf8(file(world, &typed).await).unwrap();
            assert!(
                shown.contains("quagga") && !shown.contains(reason),
                "{format}: {shown}"
            );
        }
        let text = world.bob.asks("/run show", "#lab").await;
        assert!(
            text.contains(r"└ sub_agent \@docs · $0.0")
                && text.contains(reason)
                && !text.contains("quagga"),
            "{text}"
        );
        file_for(world, &world.bob, "/run show format:picture").await;
        world.bob.person.gets_role("vip", Rights::default());
        let text = world.bob.asks("/run show", "#lab").await;
        assert!(text.contains("quagga"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn stages_are_shown_and_agree_with_what_was_spent() {
    run_test_with(priced(), async |world| {
        for name in ["security", "billing", "editor"] {
            let text = format!("---\nname: {name}\ndescription: Does {name}.\ntools: []\n---\nYou are {name}.\n");
            charter(world, name, &text);
        }
        world.edits_agent_json(
            "lab",
            json!({"advisors": ["security"], "router": {"destinations": ["billing"]}, "handoff": "editor"}),
        );
        world.model.replies(says("Mind the prices.", 10));
        world.model.calls(&[("hand_over", json!({"to": "billing"}))]);
        world
            .model
            .replies(says("It costs two.", 20))
            .replies(says("It costs two, please.", 30));
        world.ann.says("#lab", "what does it cost?").await;
        world.sees("#lab", "It costs two, please.").await;
        let run = all_agree(world).await;
        let kinds: Vec<&str> = nodes(&run["node"])
            .iter()
            .map(|node| node["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["turn", "advisor", "route", "handoff"]);
    })
    .await;
}
