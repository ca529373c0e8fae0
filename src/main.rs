//! The `chorus` program.
fn main() {}
