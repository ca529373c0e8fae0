//! The message that asks people.

use chorus::agent::event::{AskedCall, Choice, Presses, Question, QuestionEnd, TurnRef};
use chorus::discord::render::approval::{self, Ended, Subject};
use chorus::discord::rest::body::{Body, FileContent};
use chorus::domain::{AgentId, CallId, ChannelId, RoleId, TurnId, UserId};
use chrono::Utc;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub(super) fn question(action: &str, arguments: &str) -> Question {
    Question {
        turn: TurnRef {
            turn: TurnId::random(),
            run: TurnId::random(),
            agent: AgentId::random(),
            agent_name: "lab".into(),
            channel: ChannelId(1),
            reply_to: None,
        },
        child: None,
        why: "I want to see what is there.".into(),
        calls: vec![call(42, action, arguments)],
        requesters: vec![UserId(1)],
        agents: Vec::new(),
        presses: Presses::default(),
        expires_at: Utc::now(),
    }
}

fn call(approval: i64, action: &str, arguments: &str) -> AskedCall {
    AskedCall {
        preview: None,
        may_be_kept: true,
        approval,
        call: CallId(format!("c{approval}")),
        tool: "bash".into(),
        action: action.into(),
        reached: None,
        address: None,
        reason: String::new(),
        arguments: arguments.into(),
        sandbox: Some("in a sandbox, with network access".into()),
        answer: mpsc::channel(1).0,
    }
}

pub(super) fn open(question: &Question) -> Body {
    approval::shown(question, &vec![None; question.calls.len()], &[])
}

fn description(body: &Body) -> String {
    let json = Value::Object(body.to_json());
    json["embeds"][0]["description"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn denied(reason: Option<&str>) -> Ended {
    Ended {
        end: QuestionEnd::Decided {
            choice: Choice::Deny,
            by: UserId(2),
            reason: reason.map(str::to_owned),
        },
        by: "*Bob*".to_owned(),
        outcome: None,
    }
}

#[test]
fn what_fits_is_shown_in_words_and_blocks_with_its_buttons() {
    let asked = question("tool:bash:ls -la", r#"{"command": "ls -la"}"#);
    let card = open(&asked);
    let shown = description(&card);
    let expected = format!(
        "**Run this command and wait for it**\n```bash\nls -la\n```\nFolder: the workspace itself\n\
         Runs in a sandbox, with network access.\n**Why:** I want to see what is there.\n\n\
         **Who may decide:** <@1>, and members with Manage Server.\n\
         Expires <t:{}:R>. No answer counts as **Deny**.",
        asked.expires_at.timestamp()
    );
    assert_eq!(shown, expected);
    assert!(card.files.is_empty());
    assert_eq!(card.content, "<@1> **lab** wants to run `ls -la`");
    assert_eq!(
        card.to_json()["allowed_mentions"],
        json!({"parse": [], "users": ["1"]})
    );
    let labels: Vec<Vec<&str>> = card
        .rows
        .iter()
        .map(|row| row.iter().map(|button| button.label.as_str()).collect())
        .collect();
    assert_eq!(
        labels,
        [
            vec!["Allow", "Deny", "Always allow", "Deny with a reason"],
            vec!["Stop", "Abort"]
        ]
    );
    assert_eq!(
        Subject::of(&card.rows[0][2].id),
        Some((Subject::All(42), "always"))
    );
}

#[test]
fn who_may_decide_are_the_roles_that_are_named() {
    let asked = question("tool:bash:ls", r#"{"command": "ls"}"#);
    let shown = description(&approval::shown(&asked, &[None], &[RoleId(7)]));
    assert!(
        shown.contains("**Who may decide:** <@&7>, and members with Manage Server."),
        "{shown}"
    );
}

#[test]
fn arguments_that_the_action_does_not_hold_are_shown_too() {
    let arguments = json!({"path": "a.txt", "content": "Hello.", "mode": 7}).to_string();
    let mut asked = question("tool:create_file:a.txt", &arguments);
    asked.calls[0].sandbox = None;
    let shown = description(&open(&asked));
    assert!(shown.contains("File\n```\na.txt\n```"), "{shown}");
    assert!(shown.contains("content\n```\nHello.\n```"), "{shown}");
    assert!(
        shown.contains("```json\n{\n  \"mode\": 7\n}\n```"),
        "{shown}"
    );
    assert_eq!(shown.matches("a.txt").count(), 1, "{shown}");
}

#[test]
fn the_place_where_links_lead_is_shown_beside_the_path() {
    let mut file = question(
        "tool:create_file:docs/out/x.rs",
        r#"{"path": "docs/out/x.rs"}"#,
    );
    file.calls[0].reached = Some("tool:create_file:src/x.rs".into());
    let shown = description(&open(&file));
    let both = "File\n```\ndocs/out/x.rs\n```\n**Leads to**\n```\nsrc/x.rs\n```";
    assert!(shown.contains(both), "{shown}");

    let mut folder = question("tool:run_background:make in out", r#"{"command": "make"}"#);
    folder.calls[0].reached = Some("tool:run_background:make in src".into());
    let shown = description(&open(&folder));
    let both = "Folder: `out`\n**Leads to**\n```\nsrc\n```";
    assert!(shown.contains(both), "{shown}");
    folder.calls[0].reached = Some("tool:run_background:make".into());
    let shown = description(&open(&folder));
    assert!(
        shown.contains("**Leads to** the workspace itself"),
        "{shown}"
    );

    let push = r#"{"remote": "origin", "branch": "main"}"#;
    let mut push = question("tool:git:push origin main", push);
    push.calls[0].address = Some("https://git.example/eve/lab".into());
    let shown = description(&open(&push));
    let address = "**Leads to**\n```\nhttps://git.example/eve/lab\n```";
    assert!(shown.contains(address), "{shown}");

    let mut long = question("tool:create_file:a", &"x".repeat(9_000));
    long.calls[0].reached = Some("tool:create_file:src/a".into());
    let card = open(&long);
    assert!(description(&card).contains("Leads to\n```\nsrc/a\n```"));
    let FileContent::Text(all) = &card.files[0].content else {
        panic!("{:?}", card.files[0])
    };
    assert!(all.contains("Leads to\ntool:create_file:src/a\n"), "{all}");
}

#[test]
fn what_does_not_fit_is_attached_whole_with_both_ends_and_its_size() {
    let command = format!("echo start {} rm -rf last", "x".repeat(9_000));
    let card = open(&question(&format!("tool:bash:{command}"), &command));
    let shown = description(&card);
    assert!(shown.contains("echo start") && shown.contains("rm -rf last"));
    assert!(shown.contains("8.8 KiB"), "{shown}");
    let FileContent::Text(file) = &card.files[0].content else {
        panic!("{:?}", card.files[0])
    };
    assert!(file.contains(&command));
}

#[test]
fn hidden_characters_are_written_out_and_flagged() {
    let card = open(&question("tool:bash:echo \u{202E}txt", "{}"));
    let shown = description(&card);
    assert!(
        shown.contains(r"\u{202E}") && shown.contains("Hidden characters"),
        "{shown}"
    );
    assert!(!shown.contains('\u{202E}'));
}

#[test]
fn nothing_inside_closes_the_fence() {
    let card = open(&question("tool:bash:```\n**Harmless**\n```", "{}"));
    let shown = description(&card);
    assert!(shown.contains("**Three backticks.**"), "{shown}");
    assert!(
        shown.contains("```bash\n\\u{60}\\u{60}\\u{60}\n**Harmless**\n"),
        "{shown}"
    );
}

#[test]
fn a_closed_message_has_no_buttons_and_says_who_and_why() {
    let question = question("tool:bash:x", "{}");
    for (reason, told) in [
        (None, r"by \*Bob\*"),
        (Some("not today"), r"by \*Bob\*: “not today”"),
    ] {
        let card = approval::shown(&question, &[Some(denied(reason))], &[]);
        assert!(card.rows.is_empty());
        let json = Value::Object(card.to_json());
        assert_eq!(json["embeds"][0]["fields"][0]["name"], "Denied");
        assert_eq!(json["embeds"][0]["fields"][0]["value"], told);
    }
}

#[test]
fn several_calls_are_numbered_with_a_menu_for_each_that_is_open() {
    let mut asked = question("tool:bash:one", r#"{"command": "one"}"#);
    let two = call(43, "tool:bash:two", r#"{"command": "two"}"#);
    let three = call(44, "tool:bash:three", r#"{"command": "three"}"#);
    asked.calls.extend([two, three]);
    let card = approval::shown(&asked, &[None, Some(denied(None)), None], &[]);
    let json = Value::Object(card.to_json());
    let shown = description(&card);
    for number in ["**1.** **Run", "**2.** **Run", "**3.** **Run"] {
        assert!(shown.contains(number), "{shown}");
    }
    assert_eq!(json["embeds"][0]["fields"][0]["name"], "2. Denied");
    let menu = &json["components"][1]["components"][0];
    let values: Vec<_> = menu["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| {
            (
                option["value"].as_str().unwrap(),
                option["label"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(values, [("42", "1. one"), ("44", "3. three")]);
    assert_eq!(menu["custom_id"], "approval:42:pick");
}

#[test]
fn a_foreign_button_is_none_of_ours() {
    assert_eq!(approval::choice("burn"), None);
    assert_eq!(Subject::of("approval:x:allow"), None);
    assert_eq!(Subject::of("page:2"), None);
}

#[test]
fn presses_that_have_arrived_are_waited_for_and_later_ones_are_not() {
    let presses = Presses::default();
    assert!(presses.settle().now_or_never().is_some());
    let first = presses.arrive();
    let mut settled = Box::pin(presses.settle());
    assert!(settled.as_mut().now_or_never().is_none());
    let _later = presses.arrive();
    drop(first);
    assert!(settled.now_or_never().is_some());
    assert!(presses.settle().now_or_never().is_none());
}
