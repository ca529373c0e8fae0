//! One binary for all integration tests: the real bot, a local Discord, a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
