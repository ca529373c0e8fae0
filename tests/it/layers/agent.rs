//! The parts of `src/agent` form layers too. A turn knows nothing of the actor that runs it.

use super::parts::Parts;

const AGENT: Parts = Parts {
    module: "agent",
    layers: &[
        &["idle_timer", "stop", "sessions", "models", "setup"],
        &["event"],
        &["deps"],
        &["files", "auxiliary"],
        &["turn"],
        &["conversation"],
        &["actor"],
    ],
};

#[test]
fn no_part_of_agent_names_one_above_or_beside_it() {
    AGENT.check();
}
