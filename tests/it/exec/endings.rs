//! Nobody is left: at the end, at a timeout, at a stop, when nobody waits any more.

use std::time::Duration;

use chorus::exec::{Bounds, Ended, Finished};
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{LONG, Shell, printed, processes_with, until};

/// What a command may do to survive. `MARK` becomes part of the command line of what is to be found.
const STUBBORN: &[(&str, &str)] = &[
    ("a plain child", "sleep MARK & echo started; wait"),
    (
        "one that ignores SIGTERM",
        "trap '' TERM; echo started; while :; do sleep MARK; done",
    ),
    (
        "a session of its own",
        "setsid sleep MARK & echo started; wait",
    ),
    (
        "a double fork",
        "( ( setsid sleep MARK & ) & ) ; echo started; sleep MARK",
    ),
    (
        "a double fork that ignores SIGTERM and holds the pipe",
        "(trap '' TERM; ( setsid bash -c \"trap '' TERM; while :; do sleep MARK; done\" & ) & ); echo started; sleep MARK",
    ),
    (
        "a stopped child",
        "sleep MARK & kill -STOP $!; echo started; wait",
    ),
];

/// Long enough on most machines that a script has begun.
const TIMEOUT: Duration = Duration::from_millis(500);

/// A number of seconds that no other process of this machine sleeps.
fn mark() -> String {
    format!("9{:09}", Uuid::new_v4().as_u128() % 1_000_000_000)
}

/// Runs `script`, which prints and then goes on, into a timeout. One that came before it had printed was too short for
/// this machine.
async fn times_out(shell: &Shell, script: &str) -> Finished {
    let mut timeout = TIMEOUT;
    loop {
        let finished = shell.try_run(script, timeout).await.unwrap();
        assert_eq!(finished.ended, Ended::TimedOut, "{script}");
        if !printed(&finished).is_empty() || timeout > LONG {
            return finished;
        }
        timeout *= 2;
    }
}

#[tokio::test]
async fn a_timeout_leaves_nobody_and_keeps_what_was_printed() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let runs = STUBBORN.iter().map(async |(name, script)| {
            let mark = mark();
            let script = script.replace("MARK", &mark);
            let finished = times_out(&shell, &script).await;
            assert_eq!(printed(&finished), "started\n", "{name}");
            assert_eq!(processes_with(&mark), Vec::<String>::new(), "{name}");
        });
        join_all(runs).await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let mark = mark();
        let script = format!(
            "sleep {mark} & setsid sleep {mark} & ( ( setsid sleep {mark} & ) & ); echo done"
        );
        let finished = shell.run(&script).await;
        assert_eq!(printed(&finished), "done\n");
        assert_eq!(finished.exit, Some(0));
        assert_eq!(processes_with(&mark), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_stop_ends_everything() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let mark = mark();
        let stop = CancellationToken::new();
        let command = shell.command(&format!("setsid sleep {mark} & sleep {mark}"));
        let bounds = Bounds {
            timeout: LONG,
            abort: CancellationToken::new(),
            spool: None,
        };
        let stopper = async {
            until(|| processes_with(&mark).len() >= 2).await;
            stop.cancel();
        };
        let (finished, ()) = tokio::join!(shell.sandbox.run(&command, bounds, &stop), stopper);
        assert_eq!(finished.unwrap().ended, Ended::Stopped);
        assert_eq!(processes_with(&mark), Vec::<String>::new());
    }
}

/// Whether a command that would be done a second and a half after SIGTERM gets that far. It is stopped, and aborted then, or
/// aborted alone.
async fn ends_in_order(shell: &Shell, is_stopped_before: bool) -> bool {
    let (stop, abort) = (CancellationToken::new(), CancellationToken::new());
    let script = "trap 'touch asked; sleep 1.5; echo in order; exit' TERM; touch begun; while :; do sleep 0.1; done";
    let bounds = Bounds {
        timeout: LONG,
        abort: abort.clone(),
        spool: None,
    };
    let command = shell.command(script);
    let folder = command.workspace.clone();
    let stopper = async {
        until(|| folder.join("begun").exists()).await;
        if is_stopped_before {
            stop.cancel();
            until(|| folder.join("asked").exists()).await;
        }
        abort.cancel();
    };
    let (finished, ()) = tokio::join!(shell.sandbox.run(&command, bounds, &stop), stopper);
    let finished = finished.unwrap();
    assert_eq!(finished.ended, Ended::Stopped);
    printed(&finished) == "in order\n"
}

#[tokio::test]
async fn an_abort_leaves_no_time_to_end_in_order_even_after_a_stop() {
    for is_stopped_before in [false, true] {
        for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
            assert!(!ends_in_order(&shell, is_stopped_before).await);
        }
    }
}

#[tokio::test]
async fn a_dropped_future_ends_everything() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let mark = mark();
        let script = format!("setsid sleep {mark} & sleep {mark}");
        tokio::select! {
            _ = shell.run(&script) => panic!("it ended by itself"),
            () = until(|| processes_with(&mark).len() >= 2) => {}
        }
        until(|| processes_with(&mark).is_empty()).await;
    }
}

#[tokio::test]
async fn a_child_that_holds_the_pipe_does_not_delay_the_answer() {
    let shell = Shell::without_bubblewrap().await;
    let mark = mark();
    let finished = shell
        .run(&format!(
            "(trap '' TERM HUP; exec sleep {mark}) & echo done"
        ))
        .await;
    assert_eq!(printed(&finished), "done\n");
    assert_eq!(finished.ended, Ended::Exited);
}

#[tokio::test]
async fn a_signal_is_told_as_a_shell_tells_it() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        assert_eq!(shell.run("kill -KILL $$").await.exit, Some(137));
        assert_eq!(shell.run("exit 42").await.exit, Some(42));
    }
}
