//! The daemon's life: it starts, answers, stops in time, and starts again.

use crate::world::{Setup, Way, run_test, run_test_with};

#[tokio::test]
async fn a_message_is_answered() {
    run_test(async |world| {
        world.exchange("hello", "Hello, Ann.").await;
    })
    .await;
}

#[tokio::test]
async fn the_program_stops_on_sigterm_and_starts_again_clean() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("one", "One.").await;
        world.stops().await;
        world.starts().await;
        world.exchange("two", "Two.").await;
    })
    .await;
}

/// Where the log leads nowhere (`chorus run 2>&1 | head -1`, a journal that was restarted), the work goes on.
#[tokio::test]
async fn a_log_that_nobody_reads_holds_nothing_up() {
    let setup = Setup {
        way: Way::Program,
        env: vec![("CHORUS_LOG", "chorus=trace".to_owned())],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.stops().await;
        // The reader of both outputs is gone before the program begins.
        let script = "exec 3> >(:); wait $!; exec \"$0\" \"$@\" >&3 2>&3";
        let prefix = ["bash", "-c", script].map(str::to_owned);
        world.starts_under(&prefix).await;
        world.exchange("one", "One.").await;
        assert!(world.ends_in_order().await);
        world.starts().await;
        world.exchange("two", "Two.").await;
    })
    .await;
}
