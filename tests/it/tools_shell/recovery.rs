//! Tasks that outlive a daemon that crashed.

use std::fs;
use std::sync::Arc;

use chorus::domain::TaskId;
use chorus::store::{Store, TaskStatus};
use chorus::tools::tasks::{TaskEffect, Tasks};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::{Recorded, World, sandbox};
use crate::poll;

/// What is left after a daemon's end without a goodbye: its home, and whatever runs on.
struct Wreck {
    world: World,
}

/// Starts `commands` as tasks in a daemon of its own, and takes that daemon away.
fn crash_with(commands: &[&str]) -> Wreck {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(async {
        let world = World::new().await;
        for command in commands {
            world
                .lab
                .does("run_background", json!({"command": command}))
                .await;
        }
        world
    });
    runtime.shutdown_background();
    Wreck { world }
}

/// A second daemon on the same home.
struct Second {
    tasks: Tasks,
    events: mpsc::UnboundedReceiver<chorus::tools::tasks::TaskEvent>,
}

impl Second {
    async fn on(wreck: &Wreck) -> Self {
        let home = wreck.world.lab.home.path();
        let store = Store::open(&home.join("chorus.db")).await.unwrap();
        let sandbox = sandbox(env!("CARGO_BIN_EXE_chorus")).await;
        let tasks = Tasks::new(store, sandbox, home.join("agents"));
        let (sender, events) = mpsc::unbounded_channel();
        tasks.connect(Arc::new(Recorded(sender)));
        tasks.recover().await.unwrap();
        Self { tasks, events }
    }

    async fn next_notice(&mut self) -> String {
        match self.events.recv().await.unwrap().effect {
            TaskEffect::Notify(notice) => notice,
            other => panic!("not a notice: {other:?}"),
        }
    }
}

#[test]
fn a_task_that_still_runs_is_adopted_with_its_output_hooks_and_exit_code() {
    let wreck =
        crash_with(&["echo before; while [ ! -e go ]; do sleep 0.05; done; echo after; exit 7"]);
    Runtime::new().unwrap().block_on(async {
        let mut second = Second::on(&wreck).await;
        let agent = wreck.world.lab.context.agent;
        assert!(second.tasks.any_running(agent));
        wreck.world.lab.write("go", "");
        let notice = second.next_notice().await;
        assert!(
            notice.starts_with("❌ **task_001 failed (exit 7, after "),
            "{notice}"
        );
        assert!(notice.contains("before\nafter"), "{notice}");
        let row = second.tasks.row(agent, &TaskId::nth(1)).await.unwrap();
        assert_eq!((row.status, row.exit_code), (TaskStatus::Failed, Some(7)));
    });
}

#[test]
fn a_task_that_ended_meanwhile_is_known_by_the_code_it_left() {
    let wreck = crash_with(&["while [ ! -e go ]; do sleep 0.05; done"]);
    wreck.world.lab.write("go", "");
    let code = wreck
        .world
        .lab
        .home
        .path()
        .join("agents/lab/processes/task_001/exit_code");
    while !code.exists() {
        std::thread::sleep(poll::PAUSE);
    }
    Runtime::new().unwrap().block_on(async {
        let mut second = Second::on(&wreck).await;
        let notice = second.next_notice().await;
        assert!(
            notice.starts_with("✅ **task_001 completed (exit 0, after "),
            "{notice}"
        );
    });
}

#[test]
fn a_task_that_vanished_is_lost() {
    let wreck = crash_with(&["sleep 987654"]);
    let config: serde_json::Value = serde_json::from_str(
        &fs::read_to_string(wreck.world.lab.home.path().join("agents/lab/agent.json")).unwrap(),
    )
    .unwrap();
    let pid = config["running_tasks"][0]["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    Runtime::new().unwrap().block_on(async {
        let mut second = Second::on(&wreck).await;
        let notice = second.next_notice().await;
        assert!(notice.starts_with("⚫ **task_001 lost (after "), "{notice}");
    });
}

#[test]
fn an_adopted_task_can_be_stopped() {
    let wreck = crash_with(&["setsid sleep 987654 & sleep 987654"]);
    Runtime::new().unwrap().block_on(async {
        let second = Second::on(&wreck).await;
        let agent = wreck.world.lab.context.agent;
        let row = second.tasks.stop(agent, &TaskId::nth(1)).await.unwrap();
        assert_eq!(row.status, TaskStatus::Killed);
    });
}

#[test]
fn a_hook_of_a_task_that_is_adopted_keeps_its_model() {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(async {
        let world = World::new().await;
        world
            .writer
            .answers(r#"[{"action": "spawn_branch", "context_message": "go on"}]"#);
        let arguments = json!({
            "command": "while [ ! -e go ]; do sleep 0.05; done",
            "instructions": "look into it",
            "model": "small",
        });
        world.lab.does("run_background", arguments).await;
        world
    });
    runtime.shutdown_background();
    let wreck = Wreck { world };
    Runtime::new().unwrap().block_on(async {
        let mut second = Second::on(&wreck).await;
        wreck.world.lab.write("go", "");
        let event = second.events.recv().await.unwrap();
        assert!(
            matches!(event.effect, TaskEffect::SpawnBranch(_)),
            "{event:?}"
        );
        assert_eq!(event.model.as_deref(), Some("demo-small"));
    });
}
