//! Judges and runs the gates of schedules, outside of any turn.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::domain::{AgentId, CallId, ConversationId, TurnId};
use crate::permission::{Breadth, Decision, Effort};
use crate::tools::gate::{self, Gated};
use crate::tools::{Caller, ToolContext};

/// What the profiles of an agent say of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateVerdict {
    Allowed,
    /// A person has to approve it.
    Asks,
    /// With the rule.
    Denied(String),
}

/// Returns the hash that an approval of a gate is bound to.
pub fn gate_binding(agent: AgentId, gate: &str) -> String {
    let bound = serde_json::json!([agent.to_string(), gate]);
    format!("{:x}", Sha256::digest(bound.to_string()))
}

impl AgentDeps {
    /// Judges a gate by the agent's profiles as they are now.
    pub async fn judge_gate(&self, agent: &Identity, gate: &str) -> GateVerdict {
        let setup = self.setup(agent).await;
        let profiles = match self.profiles_of(&setup) {
            Ok(profiles) => profiles,
            Err(error) => return GateVerdict::Denied(error.to_string()),
        };
        if let Err(refusal) = setup.has_tool("bash") {
            return GateVerdict::Denied(refusal.to_string());
        }
        if let Err(refusal) = setup.workspace.permits("bash") {
            return GateVerdict::Denied(refusal.to_string());
        }
        let gate = gate.to_owned();
        let judged = tokio::task::spawn_blocking(move || {
            let action = gate::action(&gate);
            if let Some(why) = action.destructive() {
                return GateVerdict::Denied(why.to_string());
            }
            let effort = Effort::default();
            let verdict = profiles.decide(&action, &setup.config.always_allow, &effort);
            match verdict.decision {
                Decision::Allow => GateVerdict::Allowed,
                Decision::Ask => GateVerdict::Asks,
                Decision::Deny => GateVerdict::Denied(verdict.reason),
            }
        });
        let judged = judged.await;
        judged.unwrap_or_else(|error| GateVerdict::Denied(error.to_string()))
    }

    /// Runs a gate that was judged. `stop` ends it.
    pub async fn run_gate(&self, agent: &Identity, gate: &str, stop: CancellationToken) -> Gated {
        let setup = self.setup(agent).await;
        let caller = Caller {
            agent: agent.id,
            name: agent.name.clone(),
            guild: agent.guild,
            channel: agent.channel,
            conversation: ConversationId(0),
            turn: TurnId::random(),
            call: CallId("gate".to_owned()),
            config: setup.config.clone(),
            shelf: Arc::default(),
            people: Vec::new(),
            allowed_by: None,
            breadth: Breadth::Narrow,
            has_message: false,
            depth: 0,
            most_hops: 0,
            hides_words: false,
            abort: stop.clone(),
            stop,
        };
        let context = ToolContext {
            caller,
            services: self.services.clone(),
            room: None,
            rights: Arc::new(self.rights_of(&setup)),
            address: None,
            reader: None,
            progress: None,
        };
        match gate::run(gate, &context).await {
            Ok(Gated::Printed(output)) => {
                Gated::Printed(self.services.redactor.redact(&output).into_owned())
            }
            Ok(other) => other,
            Err(error) => Gated::Failed(format!("the gate could not run: {error}")),
        }
    }
}
