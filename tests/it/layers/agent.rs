//! The parts of `src/agent` form layers too. The loop of a turn knows nothing of its calls, its sub-agents, or the actor that
//! runs it.

use super::parts::Parts;

const AGENT: Parts = Parts {
    module: "agent",
    layers: &[
        &["idle_timer", "stop", "sessions", "models", "setup"],
        &["event"],
        &["deps"],
        &["files", "auxiliary"],
        &["turn"],
        &["calls"],
        &["run"],
        &["conversation"],
        &["actor"],
    ],
};

#[test]
fn no_part_of_agent_names_one_above_or_beside_it() {
    AGENT.check();
}
