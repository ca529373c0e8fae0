//! Tasks from start to end.

use std::fs;

use chorus::domain::TaskId;
use chorus::store::TaskStatus;
use chorus::tools::tasks::TaskEffect;
use serde_json::json;

use super::World;
use crate::poll;

#[tokio::test]
async fn a_background_task_runs_on_and_is_seen_everywhere() {
    let mut world = World::new().await;
    let text = world
        .lab
        .does(
            "run_background",
            json!({"command": "echo hello; echo oops >&2; while [ ! -e go ]; do sleep 0.05; done; exit 4"}),
        )
        .await;
    assert!(text.starts_with("task_001 is running (PID "), "{text}");
    assert!(text.contains("- on_exit → notify_channel"), "{text}");
    let id = TaskId::nth(1);
    assert_eq!(world.mirrored()[0]["status"], "running");
    assert_eq!(world.mirrored()[0]["id"], "task_001");
    assert!(world.mirrored()[0]["pid"].is_u64());
    let listed = world.lab.does("list_tasks", json!({})).await;
    assert!(
        listed.contains("[task_001] background · echo hello;"),
        "{listed}"
    );

    fs::write(world.lab.files().join("go"), "").unwrap();
    let TaskEffect::Notify(notice) = world.next_effect().await else {
        panic!("not a notice");
    };
    assert!(
        notice.starts_with("❌ **task_001 failed (exit 4, after "),
        "{notice}"
    );
    let row = world.ended(&id).await;
    assert_eq!((row.status, row.exit_code), (TaskStatus::Failed, Some(4)));
    assert_eq!(world.mirrored()[0]["status"], "failed");
    assert_eq!(world.mirrored()[0]["exit_code"], 4);
    let read = world
        .lab
        .does("read_task_output", json!({"id": "task_001"}))
        .await;
    assert!(
        read.contains("standard output:\nhello\nstandard error:\noops"),
        "{read}"
    );
    let logs = world.lab.home.path().join("agents/lab/processes/task_001");
    assert_eq!(
        fs::read_to_string(logs.join("stdout.log")).unwrap(),
        "hello\n"
    );
    assert_eq!(
        fs::read_to_string(logs.join("stderr.log")).unwrap(),
        "oops\n"
    );
}

#[tokio::test]
async fn a_concurrent_task_reports_into_its_conversation() {
    let mut world = World::new().await;
    world.writer.answers(r#"[{"trigger": {"type": "on_exit", "exit_filter": "failure"}, "action": "notify_channel"}]"#);
    world
        .lab
        .does(
            "run_concurrent",
            json!({"command": "echo built", "instructions": "tell us if it fails"}),
        )
        .await;
    let event = world.events.recv().await.unwrap();
    assert_eq!(
        event.task.task.conversation,
        Some(world.lab.context.conversation)
    );
    let TaskEffect::Inject(report) = event.effect else {
        panic!("not a report: {:?}", event.effect);
    };
    let report = report.text;
    assert!(
        report.starts_with("[task_001 completed (exit 0, after "),
        "{report}"
    );
    assert!(report.ends_with("Last lines:\nbuilt\n"), "{report}");
    assert_eq!(
        *world.writer.asked.lock().unwrap(),
        ["Command:\necho built\n\nInstructions:\ntell us if it fails"]
    );
}

#[tokio::test]
async fn a_stopped_task_leaves_nothing() {
    let mut world = World::new().await;
    let command = "(trap '' TERM; setsid sleep 987654 &) ; echo up; sleep 987654";
    world
        .lab
        .does("run_background", json!({"command": command}))
        .await;
    while !world
        .lab
        .does("read_task_output", json!({"id": "task_001"}))
        .await
        .contains("up")
    {
        poll::pause().await;
    }
    let text = world.lab.does("stop_task", json!({"id": "task_001"})).await;
    assert_eq!(text, "task_001 killed; nothing of it is left running.");
    assert!(
        matches!(world.next_effect().await, TaskEffect::Notify(notice) if notice.starts_with("🔴 **task_001 killed"))
    );
    let why = world
        .lab
        .refuses("stop_task", json!({"id": "task_001"}))
        .await;
    assert_eq!(why, "task_001 has ended already: killed");
    let why = world
        .lab
        .refuses("stop_task", json!({"id": "task_9"}))
        .await;
    assert!(why.starts_with("there is no task `task_9`"), "{why}");
    let why = world
        .lab
        .refuses("stop_task", json!({"id": "../../x"}))
        .await;
    assert!(why.starts_with("there is no task"), "{why}");
}

#[tokio::test]
async fn a_clean_stop_kills_tasks_in_silence() {
    let mut world = World::new().await;
    for _ in 0..3 {
        world
            .lab
            .does("run_background", json!({"command": "sleep 987654"}))
            .await;
    }
    assert!(world.tasks.any_running(world.lab.context.agent));
    world.tasks.shutdown().await;
    let views = world.tasks.views(world.lab.context.agent).await.unwrap();
    assert!(
        views.iter().all(|view| view.status == TaskStatus::Killed),
        "{views:?}"
    );
    assert!(world.events.try_recv().is_err());
    assert!(
        world
            .mirrored()
            .iter()
            .all(|task| task["status"] == "killed")
    );
}

#[tokio::test]
async fn a_task_runs_in_a_folder_of_the_workspace_only() {
    let world = World::new().await;
    fs::create_dir(world.lab.files().join("sub")).unwrap();
    fs::create_dir(world.lab.home.path().join("agents/lab/workspace-evil")).unwrap();
    std::os::unix::fs::symlink("/usr", world.lab.files().join("link_out")).unwrap();
    let absolute = world.lab.files().join("sub").display().to_string();
    for inside in ["", ".", "sub", "./sub/", &absolute] {
        let arguments = json!({"command": "true", "working_directory": inside});
        world.lab.does("run_concurrent", arguments).await;
    }
    let evil = world.lab.home.path().join("agents/lab/workspace-evil");
    let evil = evil.display().to_string();
    for outside in [
        "nonexistent",
        "../workspace-evil",
        "link_out",
        "/usr",
        &evil,
        "sub/../../docs",
    ] {
        let arguments = json!({"command": "true", "working_directory": outside});
        let why = world.lab.refuses("run_concurrent", arguments).await;
        assert!(why.starts_with("working_directory: "), "{outside}: {why}");
    }
}

#[tokio::test]
async fn a_line_of_any_length_is_read_past() {
    let world = World::new().await;
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last";
    world
        .lab
        .does("run_background", json!({"command": command}))
        .await;
    let id = TaskId::nth(1);
    assert_eq!(world.ended(&id).await.exit_code, Some(0));
    let text = world
        .lab
        .does("read_task_output", json!({"id": "task_001"}))
        .await;
    assert!(text.ends_with("x\nlast\n"), "{}", &text[text.len() - 40..]);
    let found = world
        .lab
        .does(
            "read_task_output",
            json!({"id": "task_001", "grep": "^last$"}),
        )
        .await;
    assert!(found.ends_with("]\nlast\n"), "{found}");
}

#[tokio::test]
async fn only_so_many_tasks_run_at_once() {
    let world = World::new().await;
    for _ in 0..chorus::tools::tasks::MOST_RUNNING {
        world
            .lab
            .does("run_background", json!({"command": "sleep 987654"}))
            .await;
    }
    let why = world
        .lab
        .refuses("run_background", json!({"command": "true"}))
        .await;
    assert!(why.contains("stop one first"), "{why}");
    world.tasks.stop_all(world.lab.context.agent).await;
    assert!(!world.tasks.any_running(world.lab.context.agent));
}
