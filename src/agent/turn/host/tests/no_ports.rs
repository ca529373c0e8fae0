//! The ports of the tools for tests that use none of them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::config::Key;
use crate::domain::{AgentName, GuildId, UserId};
use crate::permission::Profiles;
use crate::tools::Caller;
use crate::tools::ports::{self, AgentDirectory, Configure, Messenger, PortError};

/// The ports of the tools, which no test here uses.
pub(super) struct NoPorts;

fn no_port<T>() -> Result<T, PortError> {
    Err(PortError::Broken("there is none".to_owned()))
}

#[async_trait]
impl Messenger for NoPorts {
    async fn post_file(&self, _: &Caller, _: ports::OutgoingFile) -> Result<(), PortError> {
        no_port()
    }
}

#[async_trait]
impl AgentDirectory for NoPorts {
    async fn list(&self, _: &Caller) -> Result<Vec<ports::Peer>, PortError> {
        no_port()
    }

    async fn send(&self, _: &Caller, _: &AgentName, _: String) -> Result<(), PortError> {
        no_port()
    }

    async fn find(&self, _: &Caller, _: &AgentName) -> Result<ports::Colleague, PortError> {
        no_port()
    }

    async fn open_branch(&self, _: &Caller, _: ports::BranchTask) -> Result<u32, PortError> {
        no_port()
    }
}

#[async_trait]
impl ports::Models for NoPorts {
    async fn list(&self) -> Result<Vec<String>, PortError> {
        no_port()
    }

    async fn resolve(&self, _: &str) -> Result<String, PortError> {
        no_port()
    }
}

#[async_trait]
impl Configure for NoPorts {
    async fn set(&self, _: &Caller, _: &'static Key, _: Value) -> Result<(), PortError> {
        no_port()
    }

    fn profiles(&self) -> Arc<Profiles> {
        Arc::default()
    }

    async fn manages_channels(&self, _: &Caller, _: UserId) -> bool {
        false
    }

    async fn grants(&self, _: GuildId) -> Result<ports::Grants, PortError> {
        no_port()
    }
}

#[async_trait]
impl ports::ServerDecisions for NoPorts {
    async fn record(&self, _: &Caller, _: String) -> Result<u32, PortError> {
        no_port()
    }
}

#[async_trait]
impl ports::Planner for NoPorts {
    async fn preview(&self, _: &Caller, _: ports::Plan) -> Result<String, PortError> {
        no_port()
    }

    async fn plan(&self, _: &Caller, _: ports::Plan) -> Result<String, PortError> {
        no_port()
    }

    async fn delete(&self, _: &Caller, _: &str) -> Result<String, PortError> {
        no_port()
    }

    async fn list(&self, _: &Caller) -> Result<String, PortError> {
        no_port()
    }
}
