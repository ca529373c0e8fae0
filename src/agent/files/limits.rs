//! What an agent may do and spend, as its files say now.

use crate::agent::deps::identity::Identity;
use crate::agent::deps::{AgentDeps, Limits};
use crate::agent::models::budget::Caps;
use crate::agent::setup::Setup;
use crate::config::Effective;
use crate::permission::{ProfileError, Rights, Stack};

impl AgentDeps {
    /// The profiles that apply, the agent's own first.
    ///
    /// # Errors
    ///
    /// When one of them is not a profile: then everything is denied.
    pub fn profiles_of(&self, setup: &Setup) -> Result<Stack, ProfileError> {
        let profiles = self.profiles.load();
        let own = profiles.resolve(&setup.config.permissions)?;
        let mut stack = match &setup.above {
            None => Stack::new(own),
            Some(above) => {
                let source = format!("agent `{}`", setup.config.name);
                self.profiles_of(above)?.with(source, own)
            }
        };
        for role in setup.roles() {
            for profile in &role.permissions {
                let source = format!("role `{}`", role.name);
                stack = stack.with(source, profiles.resolve(profile)?);
            }
        }
        if let Some(outer) = &setup.outer {
            stack = stack.with(outer.source.clone(), profiles.resolve(&outer.profile)?);
        }
        Ok(stack)
    }

    /// The profiles that apply, with what people allowed the agent for good.
    pub(in crate::agent) fn rights_of(&self, setup: &Setup) -> Rights {
        let always_allow = setup.payer().config.always_allow.clone();
        Rights::new(self.profiles_of(setup), always_allow)
    }

    /// What its requests may cost.
    pub(in crate::agent) fn caps_of(&self, effective: &Effective, setup: &Setup) -> Caps {
        let caps = self.caps(effective);
        let own = setup.of_agent().map(|role| role.limits).unwrap_or_default();
        Caps {
            turn: [own.budget_usd, caps.turn]
                .into_iter()
                .flatten()
                .min_by(f64::total_cmp),
            turn_tokens: [own.max_tokens, caps.turn_tokens]
                .into_iter()
                .flatten()
                .min(),
            ..caps
        }
    }

    /// How far a turn of this agent may go.
    pub fn limits_of(&self, agent: &Identity, setup: &Setup) -> Limits {
        let limits = self.limits(agent, &setup.config);
        let Some(own) = setup.role.as_ref().map(|role| role.limits) else {
            return limits;
        };
        Limits {
            steps: own
                .max_steps
                .map_or(limits.steps, |most| most.min(limits.steps)),
            tokens: [own.max_tokens, limits.tokens].into_iter().flatten().min(),
            ..limits
        }
    }
}
