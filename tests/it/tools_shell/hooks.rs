//! Hooks: how they are read, and how often they fire.

use chorus::tools::hooks::{HookAction, HookSpec, parse};
use chorus::tools::tasks::TaskEffect;
use serde_json::{Value, json};

use super::World;

/// What the original made of the same texts.
#[test]
fn what_a_model_writes_is_read_as_in_the_original() {
    let cases = [
        (
            r#"[{"trigger":{"type":"on_exit","exit_filter":"failure"},"action":"spawn_branch","context_message":"fix"}]"#,
            json!([{"trigger": {"type": "on_exit", "exit_filter": "failure"}, "action": "spawn_branch",
                    "context_message": "fix", "output_delay_seconds": 0.0, "max_fires": 1, "min_message_interval": 180.0}]),
        ),
        (
            "```json\n[{\"trigger\":{\"type\":\"on_output_match\",\"pattern\":\"err\"},\"action\":\"stop_process\"}]\n```",
            json!([{"trigger": {"type": "on_output_match", "pattern": "err"}, "action": "stop_process",
                    "context_message": "", "output_delay_seconds": 2.0, "max_fires": 0, "min_message_interval": 180.0}]),
        ),
        ("not json", json!([])),
        (
            "[{}]",
            json!([{"trigger": {"type": "on_exit"}, "action": "spawn_branch", "context_message": "",
                    "output_delay_seconds": 0.0, "max_fires": 1, "min_message_interval": 180.0}]),
        ),
        (r#"[{"action":"bogus"}]"#, json!([])),
        (
            r#"[{"trigger":{"type":"on_exit"},"action":"inject_context","max_fires":0}]"#,
            json!([{"trigger": {"type": "on_exit"}, "action": "inject_context", "context_message": "",
                    "output_delay_seconds": 0.0, "max_fires": 0, "min_message_interval": 180.0}]),
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(
            serde_json::to_value(parse(raw).hooks).unwrap(),
            expected,
            "{raw}"
        );
    }
}

#[test]
fn what_cannot_be_used_is_refused_with_its_reason() {
    let cases = [
        ("not json", "the answer is not JSON"),
        ("3", "neither a list of hooks nor a hook"),
        (r#"[7]"#, "hook 1: not an object"),
        (r#"[{"action": "explode"}]"#, "unknown variant `explode`"),
        (
            r#"[{"trigger": {"type": "on_output_match"}}]"#,
            "missing field `pattern`",
        ),
        (
            r#"[{"trigger": {"type": "on_output_match", "pattern": "("}}]"#,
            "not a regular expression",
        ),
        (
            r#"[{"trigger": {"type": "on_output_match", "pattern": ""}}]"#,
            "matches every line",
        ),
        (
            r#"[{"trigger": {"type": "on_output_match", "pattern": "(a{1000}){1000}"}}]"#,
            "not a regular expression",
        ),
        (
            r#"[{"trigger": {"type": "on_timeout", "timeout_seconds": 0}}]"#,
            "above 0",
        ),
        (
            r#"[{"trigger": {"type": "on_timeout", "timeout_seconds": 1e30}}]"#,
            "above 0",
        ),
        (r#"[{"max_fires": -1}]"#, "invalid value"),
        (r#"[{"min_message_interval": -5}]"#, "must be between 0"),
    ];
    for (raw, reason) in cases {
        let parsed = parse(raw);
        assert_eq!(parsed.hooks, [], "{raw}");
        assert!(
            parsed.refused[0].contains(reason),
            "{raw}: {:?}",
            parsed.refused
        );
    }
    let good = r#"{"action": "stop_branch"}"#;
    let many = format!("[{}]", [good; 12].join(","));
    assert_eq!(parse(&many).hooks.len(), 10);
    assert_eq!(parse(&many).refused.len(), 2);
    assert_eq!(parse(good).hooks[0].action, HookAction::StopBranch);
}

async fn start(world: &World, command: &str, hooks: Value) {
    world.writer.answers(&hooks.to_string());
    let arguments = json!({"command": command, "instructions": "as the test says"});
    world.lab.does("run_background", arguments).await;
}

#[tokio::test]
async fn a_hook_fires_exactly_as_often_as_it_may() {
    let mut world = World::new().await;
    let hooks = json!([
        {"trigger": {"type": "on_output_match", "pattern": "^ping"}, "action": "inject_context",
         "context_message": "it pings", "output_delay_seconds": 0, "max_fires": 2},
        {"trigger": {"type": "on_exit", "exit_filter": "success"}, "action": "spawn_branch", "context_message": "go on"},
    ]);
    start(&world, "for n in 1 2 3 4 5; do echo ping $n; done", hooks).await;
    for n in 1..=2 {
        let TaskEffect::Inject(told) = world.next_effect().await else {
            panic!("not told");
        };
        let told = told.text;
        assert!(told.contains(&format!("Line: ping {n}\n")), "{told}");
        assert!(told.contains("\nit pings\n"), "{told}");
    }
    let event = world.events.recv().await.unwrap();
    assert_eq!(event.depth, 1);
    assert!(
        matches!(event.effect, TaskEffect::SpawnBranch(prompt) if prompt.text.contains("go on"))
    );
    assert!(world.events.try_recv().is_err());
}

#[tokio::test]
async fn notices_keep_their_distance_and_name_the_true_trigger() {
    let mut world = World::new().await;
    let hooks = json!([
        {"trigger": {"type": "on_output_match", "pattern": "ping"}, "action": "notify_channel",
         "output_delay_seconds": 0, "max_fires": 0},
    ]);
    start(
        &world,
        "echo ping 1; echo ping 2; echo ping 3; exit 1",
        hooks,
    )
    .await;
    let TaskEffect::Notify(notice) = world.next_effect().await else {
        panic!("not a notice");
    };
    let pid = regex::Regex::new(r"PID \d+").unwrap();
    insta::assert_snapshot!(pid.replace_all(&notice, "PID N"), @r"
    🔔 **task_001 printed a line that matches**
    ```
    ping 1
    ```
    `echo ping 1; echo ping 2; echo ping 3; exit 1` · PID N · hook `on_output_match 'ping'`
    ");
    world.ended(&chorus::domain::TaskId::nth(1)).await;
    world.tasks.shutdown().await;
    assert!(
        world.events.try_recv().is_err(),
        "a second notice came at once"
    );
    let view = &world.tasks.views(world.lab.context.agent).await.unwrap()[0];
    assert_eq!(view.hooks[0].fires, 1);
}

#[tokio::test]
async fn a_hook_ends_a_task_that_takes_too_long() {
    let mut world = World::new().await;
    let hooks = json!([
        {"trigger": {"type": "on_timeout", "timeout_seconds": 0.2}, "action": "stop_process"},
        {"trigger": {"type": "on_exit", "exit_filter": "failure"}, "action": "notify_channel"},
    ]);
    start(&world, "sleep 987654", hooks).await;
    assert!(
        matches!(world.next_effect().await, TaskEffect::Notify(notice) if notice.contains("task_001 killed"))
    );
}

#[tokio::test]
async fn what_a_task_causes_is_one_hop_further_however_many_there_were() {
    let mut world = World::new().await;
    for hops in [3, 255, 70_000] {
        world.lab.context.depth = hops;
        let hooks = json!([{"trigger": {"type": "on_exit"}, "action": "spawn_branch"}]);
        start(&world, "true", hooks).await;
        let event = world.events.recv().await.unwrap();
        assert_eq!(event.depth, hops + 1);
        let TaskEffect::SpawnBranch(note) = event.effect else {
            panic!("no branch");
        };
        assert!(note.about.contains("completed (exit 0"), "{note:?}");
    }
}

#[tokio::test]
async fn hooks_are_added_to_a_running_task() {
    let mut world = World::new().await;
    world
        .lab
        .does(
            "run_background",
            json!({"command": "while [ ! -e go ]; do sleep 0.05; done; echo marker; sleep 987654"}),
        )
        .await;
    world.writer.answers(
        r#"[{"trigger": {"type": "on_output_match", "pattern": "marker"}, "action": "stop_process", "output_delay_seconds": 0}]"#,
    );
    let text = world
        .lab
        .does(
            "add_process_hooks",
            json!({"id": "task_001", "instructions": "stop at the marker"}),
        )
        .await;
    assert!(
        text.starts_with(
            "task_001 has 2 hooks now.\nHooks:\n- on_output_match `marker` → stop_process\n"
        ),
        "{text}"
    );
    world.lab.write("go", "");
    assert!(
        matches!(world.next_effect().await, TaskEffect::Notify(notice) if notice.contains("task_001 killed"))
    );
    let why = world
        .lab
        .refuses(
            "add_process_hooks",
            json!({"id": "task_001", "instructions": "x"}),
        )
        .await;
    assert_eq!(why, "task_001 has ended already: killed");
}

#[tokio::test]
async fn without_a_model_there_is_one_notice_at_the_end() {
    let mut world = World::new().await;
    let text = world
        .lab
        .does(
            "run_background",
            json!({"command": "true", "instructions": "do wonders"}),
        )
        .await;
    assert!(
        text.contains("Not used: the hooks could not be written: no model answers"),
        "{text}"
    );
    assert!(matches!(world.next_effect().await, TaskEffect::Notify(_)));
    let view = &world.tasks.views(world.lab.context.agent).await.unwrap()[0];
    assert_eq!(view.hooks[0].spec, HookSpec::notice_at_exit());
}

/// What was said of hooks when a task was started, and what `list_tasks` says.
async fn started(world: &World, instructions: &str, model: Option<&str>, hooks: Value) -> String {
    world.writer.answers(&hooks.to_string());
    let mut arguments =
        json!({"command": "while [ ! -e go ]; do sleep 0.05; done", "instructions": instructions});
    if let Some(model) = model {
        arguments["model"] = model.into();
    }
    let told = world.lab.does("run_background", arguments).await;
    told.split_once("Hooks:\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_hook_has_the_model_that_is_named_for_it() {
    let mut world = World::new().await;
    let hooks = json!([
        {"action": "spawn_branch", "model": "small"},
        {"action": "inject_context"},
        {"action": "notify_channel", "model": "small"},
    ]);
    let told = started(&world, "let SMALL look into it", Some("demo-small"), hooks).await;
    insta::assert_snapshot!(told, @"
    - on_exit → spawn_branch with demo-small
    - on_exit → inject_context with demo-small
    - on_exit → notify_channel
    ");
    let listed = world.lab.does("list_tasks", json!({})).await;
    assert!(
        listed.contains("on_exit → spawn_branch with demo-small (fired 0/1)"),
        "{listed}"
    );
    world.lab.write("go", "");
    let mut models = Vec::new();
    for _ in 0..3 {
        models.push(world.events.recv().await.unwrap().model);
    }
    let small = Some("demo-small".to_owned());
    assert_eq!(models, [small.clone(), small, None]);
}

#[tokio::test]
async fn a_model_that_nobody_named_is_not_used() {
    let world = World::new().await;
    let hooks = json!([{"action": "spawn_branch", "model": "small"}, {"action": "inject_context", "model": ""}]);
    insta::assert_snapshot!(started(&world, "look into it", None, hooks).await, @"
    - on_exit → inject_context
    Not used: on_exit → spawn_branch with small: the instructions do not name the model `small`; name it there, or as `model`
    ");
    let hooks = json!([{"action": "spawn_branch", "model": "large"}]);
    insta::assert_snapshot!(started(&world, "let large look into it", None, hooks).await, @"
    - on_exit → notify_channel
    Not used: on_exit → spawn_branch with large: there is no model `large`
    ");
    let hooks = json!([{"action": "notify_channel"}]);
    insta::assert_snapshot!(started(&world, "tell us", Some("small"), hooks).await, @"
    - on_exit → notify_channel
    Not used: the model demo-small, for no hook starts a turn
    ");
    world.tasks.shutdown().await;
}

#[tokio::test]
async fn with_an_unknown_model_nothing_is_started() {
    let world = World::new().await;
    let arguments =
        json!({"command": "touch ran", "instructions": "look into it", "model": "smal"});
    for tool in ["run_background", "run_concurrent"] {
        let told = world.lab.refuses(tool, arguments.clone()).await;
        assert_eq!(told, "there is no model `smal`");
    }
    assert_eq!(
        world.lab.does("list_tasks", json!({})).await,
        "There are no tasks."
    );
    world.writer.answers("[]");
    world
        .lab
        .does("run_background", json!({"command": "sleep 600"}))
        .await;
    let more = json!({"id": "task_001", "instructions": "look into it", "model": "smal"});
    assert_eq!(
        world.lab.refuses("add_process_hooks", more).await,
        "there is no model `smal`"
    );
    world.tasks.shutdown().await;
}
