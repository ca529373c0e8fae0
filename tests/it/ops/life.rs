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
