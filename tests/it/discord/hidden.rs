//! No text reaches Discord with characters that hide, wherever it comes from.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use crate::world::{Actor, Setup, World, run_test, run_test_with};

/// Letters with controls, an escape sequence, turns of direction, blanks without width and a tag between them.
const HOSTILE: &str =
    "a\u{0}b\u{7}c\u{1b}[31md\u{85}e\u{202E}f\u{2066}g\u{200B}h\u{FEFF}i\u{E0041}j";

/// The same without what cannot stand in a name.
const NAME: &str = "a\u{1b}[31m\u{202E}f\u{2066}g\u{200B}i\u{E0041}j";

/// Whether a character shows nothing, or turns what stands around it. No text of this test needs any of them.
fn hides(c: char) -> bool {
    let is_control = c.is_control() && c != '\n' && c != '\t';
    let is_format = matches!(u32::from(c), 0xAD | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2069 | 0xFEFF | 0xE0000..=0xE007F);
    is_control || is_format
}

/// Texts of a request that hold such a character. What a choice stands for, and what a form gives back, is not shown as it
/// stands and must come back as it is.
fn hidden_in(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(hides) => found.push(format!("{path}: {text:?}")),
        Value::Array(all) => {
            for one in all {
                hidden_in(one, path, found);
            }
        }
        Value::Object(map) => {
            let is_choice = path.ends_with("choices");
            let shown = map.iter().filter(|(key, _)| !is_choice || *key != "value");
            for (key, value) in shown {
                hidden_in(value, &format!("{path}.{key}"), found);
            }
        }
        _ => {}
    }
}

/// What was sent to Discord with hidden characters in it: texts, and names of files.
fn sent_hidden(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for request in world.discord.requests() {
        let place = format!("{} {}", request.method, request.path);
        hidden_in(&request.body, &place, &mut found);
        let files = request.files.iter().filter(|name| name.contains(hides));
        found.extend(files.map(|name| format!("{place} file: {name:?}")));
    }
    found
}

/// Commands that quote what they are given, and those that show what was kept.
async fn gives_commands(world: &World) {
    for command in [
        format!("/agent init name:{NAME}"),
        format!("/agent init name:tidy system_prompt:{NAME}"),
        format!("/agent config name:{NAME} key:model"),
        format!("/agent config name:lab key:{NAME}"),
        format!("/agent config name:lab key:model value:{NAME}"),
        format!("/agent config name:lab key:system_prompt value:Be brief. {NAME}"),
        "/agent config name:lab key:system_prompt".to_owned(),
        format!("/agent destroy name:{NAME}"),
        format!("/context save description:{NAME}"),
        format!("/context restore session_id:{NAME}"),
        format!("/context history agent_name:{NAME}"),
        "/context history".to_owned(),
        format!("/process logs id:{NAME}"),
        format!("/process kill id:{NAME}"),
        format!("/branch kill id:{NAME}"),
        format!("/models provider:{NAME}"),
        format!("/usage agent_name:{NAME}"),
        format!("/settings model model:{NAME}"),
        format!("/settings idle-timeout timeout:{NAME}"),
        format!("/settings permissions permission_profile:{NAME}"),
        format!("/servers accept server:{NAME}"),
        "/servers list".to_owned(),
        "/tasks".to_owned(),
        "/process list".to_owned(),
        "/process logs id:task_001".to_owned(),
        "/branch list".to_owned(),
        "/agent list".to_owned(),
        "/models".to_owned(),
        "/status".to_owned(),
        "/audit".to_owned(),
        "/usage".to_owned(),
        "/permissions".to_owned(),
        "/settings show".to_owned(),
    ] {
        // What Discord's own form does not take is not given.
        if let Ok(run) = world.ann.tries(&command, "#lab").await {
            world
                .waits(&format!("an answer to {command:?}"), |world| {
                    (!world.discord.replies_to(run).is_empty()).then_some(())
                })
                .await;
        }
    }
}

#[tokio::test]
async fn no_text_reaches_discord_with_hidden_characters() {
    let setup = Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let mallory = Actor::new(&world.discord, &format!("mallory{NAME}"));
        world.ann.person.gets_role(&format!("role{NAME}"), Default::default());
        let strange = world.discord.add_guild(&format!("Elsewhere{NAME}"), &mallory.person);
        world.discord.add_channel(strange, "cellar");

        // A model's words, its unknown tool, and its arguments: shown as they stream, in the status and in the answer.
        let stream = world.model.streams(&format!("Words {HOSTILE} of a model."));
        mallory.says("#lab", "say it").await;
        stream.lets(5);
        world.shows("#lab", |shown| shown.contains('▌')).await;
        stream.ends();
        world.sees("#lab", "of a model.").await;
        let unknown = Block::Call("toolu_a".to_owned(), format!("tool{NAME}"), json!({"a": HOSTILE}));
        world.model.replies(Reply::new(vec![unknown]));
        world.model.calls(&[
            ("view", json!({"path": HOSTILE})),
            ("web_fetch", json!({"url": format!("http://127.0.0.1/{HOSTILE}")})),
            ("bash", json!({"command": format!("printf '%s' '{NAME}'")})),
            ("send_file", json!({"path": "README.md", "caption": HOSTILE})),
            ("create_file", json!({"path": format!("file{NAME}.txt"), "content": HOSTILE})),
            ("send_file", json!({"path": format!("file{NAME}.txt")})),
            ("send_to_agent", json!({"agent": HOSTILE, "message": HOSTILE})),
            ("self_edit_model", json!({"new_model": HOSTILE})),
            ("stop_task", json!({"task_id": HOSTILE})),
        ]);
        world.model.calls_tool("run_background", json!({
            "command": format!("printf '%s\\n' '{NAME}'; exit 3"),
            "instructions": format!("tell us {NAME}"),
        }));
        let hooks = json!([{"trigger": {"type": "on_output_match", "pattern": "a"}, "action": "notify_channel"}]);
        world.model.answers(&hooks.to_string()).answers("All was tried.");
        world.model.always_answers("task_001", "I saw it.");
        world.model.always_answers("ended", "I saw it.");
        mallory.uploads("#lab", "go", &[(&format!("up{NAME}.txt"), HOSTILE.as_bytes())]).await;
        world.sees("#lab", "All was tried.").await;
        world.waits_for_reply("/tasks", "task_001").await;

        // A provider's error, a question with its card, a branch.
        let error = json!({"type": "invalid_request_error", "message": HOSTILE});
        world.model.fails_with(400, json!({"type": "error", "error": error}));
        world.ann.says("#lab", "fail").await;
        world.sees("#lab", "Last error").await;
        world.ann.asks("/agent config name:lab key:permissions value:standard", "#lab").await;
        let call = json!({"command": format!("rm x; echo '{HOSTILE}'")});
        world.model.calls_tool("bash", call).answers("Not run then.");
        mallory.says("#lab", "remove it").await;
        world.question("#lab").await;
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Not run then.").await;
        world.model.answers("From the branch.");
        world.ann.runs(&format!("/branch new prompt:look {NAME}"), "#lab").await;
        world.sees("#lab", "From the branch.").await;

        gives_commands(world).await;
        for (typed, option) in [
            ("/context restore session_id:", "session_id"),
            ("/process logs id:", "id"),
            ("/branch kill id:", "id"),
            ("/servers accept server:", "server"),
        ] {
            world.ann.completes(typed, option, "#lab").await;
        }
        world.restarts().await;
        let found = sent_hidden(world);
        assert!(found.is_empty(), "{}:\n{}", found.len(), found.join("\n"));
        let asked = world.transcript("#lab");
        assert!(asked.contains(r"\u{202E}"), "nothing hostile was shown: {asked}");
    })
    .await;
}

/// One letter with a hundred thousand marks on it, and words of which each looks like another.
#[tokio::test]
async fn letters_with_endless_marks_hold_up_nothing() {
    run_test(async |world| {
        let marks = format!("e{}", "\u{301}".repeat(100_000));
        world.model.answers(&marks);
        world.ann.says("#lab", "shout").await;
        world.sees("#lab", "answer.md").await;
        for (number, letters) in [
            format!("e{}", "\u{301}".repeat(30_000)),
            "\u{456}\u{301} ".repeat(10_000),
            "\u{1F468}\u{200D}".repeat(8_000),
            "\u{FDFA}".repeat(20_000),
        ]
        .iter()
        .enumerate()
        {
            let done = format!("Denied, {number}.");
            let call = json!({"command": format!("rm x; echo '{letters}'")});
            world.model.calls_tool("bash", call).answers(&done);
            world.ann.says("#lab", "go").await;
            world.question("#lab").await;
            world.ann.clicks("#lab", "Deny").await;
            world.sees("#lab", &done).await;
        }
    })
    .await;
}
