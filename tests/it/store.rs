//! The database through its public face, on temporary homes.

mod audit_upgrade;
mod bytes_upgrade;
mod causes_upgrade;
mod children;
pub(crate) mod damaged;
mod disk;
mod ledger;
mod looked_at;
mod recovery;
mod rows;
mod runs_upgrade;
mod scale;
mod upgrade;
mod writer;

use chorus::domain::{
    AgentId, AgentStatus, Assistant, CallId, ChannelId, Cost, GuildId, Inbound, Item, MessageId,
    Person, ProfileRef, ToolCall, ToolResult, TurnId, Usage, UserId, UserText,
};
use chorus::store::{
    AgentRow, AttachedRows, ConversationRow, FinishedTurn, FirstPart, NewPart, NewQuestion,
    NewTurn, Opening, Store, TurnCause,
};
use tempfile::TempDir;

/// A home with an open database and one agent.
pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) agent: AgentId,
}

pub(crate) const CHANNEL: ChannelId = ChannelId(50);

impl Home {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("db/chorus.db"))
            .await
            .unwrap();
        let agent = AgentId::random();
        store
            .insert_agent(agent_row(agent, "lab", CHANNEL))
            .await
            .unwrap();
        Self {
            folder,
            store,
            agent,
        }
    }

    /// Closes the database in order and opens it again.
    pub(crate) async fn reopened(mut self) -> Self {
        self.store.close().await;
        self.store = Store::open(self.store.path()).await.unwrap();
        self
    }

    pub(crate) async fn conversation(&self) -> ConversationRow {
        self.store.main_conversation(self.agent).await.unwrap()
    }

    /// A running turn that message `trigger` started.
    pub(crate) async fn turn(&self, trigger: u64) -> TurnId {
        let conversation = self.conversation().await;
        let message = message(trigger, "please");
        self.store.accept(&message).await.unwrap();
        let turn = new_turn(self.agent, &conversation, trigger);
        self.store
            .begin_turn(Opening::new(turn.clone(), vec![user(trigger, "please")]))
            .await
            .unwrap();
        turn.id
    }

    /// Stores an answer with calls, none of which asks people.
    pub(crate) async fn records(&self, turn: TurnId, answer: &Assistant) {
        let attached = AttachedRows::default();
        let stored =
            self.store
                .record_and_start(turn, answer, Default::default(), vec![], attached);
        stored.await.unwrap();
    }
}

/// A question about the call `call` of a turn.
pub(crate) fn new_question(turn: TurnId, call: &str) -> NewQuestion {
    NewQuestion {
        turn,
        call: CallId(call.to_owned()),
        channel: CHANNEL,
        action: "tool:bash:ls".to_owned(),
        binding: "hash".to_owned(),
        expires_at: "2026-02-12T10:32:00Z".parse().unwrap(),
    }
}

pub(crate) fn agent_row(id: AgentId, name: &str, channel: ChannelId) -> AgentRow {
    AgentRow {
        id,
        name: name.to_owned(),
        guild_id: GuildId(7),
        channel_id: Some(channel),
        model: None,
        permissions: ProfileRef::Named("standard".to_owned()),
        owner_id: Some(UserId(1)),
        created_at: "2026-02-12T10:30:00Z".parse().unwrap(),
        back_since: None,
        status: AgentStatus::Active,
    }
}

pub(crate) fn new_turn(agent: AgentId, conversation: &ConversationRow, trigger: u64) -> NewTurn {
    let id = TurnId::random();
    NewTurn {
        id,
        agent,
        conversation: conversation.id,
        trigger: Some(MessageId(trigger)),
        parent: None,
        depth: 0,
        channel: CHANNEL,
        reply_to: Some(MessageId(trigger)),
        path: "lab".to_owned(),
        cause: TurnCause::Message,
        child: None,
    }
}

pub(crate) fn message(id: u64, content: &str) -> Inbound {
    Inbound {
        id: MessageId(id),
        channel_id: CHANNEL,
        guild_id: GuildId(7),
        parent_id: None,
        author: Person {
            id: UserId(1),
            name: "ann".to_owned(),
            roles: Vec::new(),
            is_administrator: false,
            may_manage_server: false,
        },
        content: content.to_owned(),
        attachments: Vec::new(),
        reply_to: None,
        quote: None,
        sent_at: "2026-02-12T10:30:00Z".parse().unwrap(),
        via: None,
        is_from_webhook: false,
        is_from_bot: false,
    }
}

pub(crate) fn user(message: u64, text: &str) -> Item {
    Item::User(UserText {
        text: text.to_owned(),
        message_id: Some(MessageId(message)),
        ..UserText::default()
    })
}

pub(crate) fn answer(text: &str, calls: &[&str]) -> Assistant {
    Assistant {
        text: text.to_owned(),
        tool_calls: calls
            .iter()
            .map(|id| ToolCall {
                id: CallId((*id).to_owned()),
                name: "view".to_owned(),
                arguments: serde_json::Map::new(),
            })
            .collect(),
        ..Assistant::default()
    }
}

pub(crate) fn result(call: &str, content: &str) -> ToolResult {
    ToolResult {
        call_id: CallId(call.to_owned()),
        name: "view".to_owned(),
        content: content.to_owned(),
        ..ToolResult::default()
    }
}

pub(crate) fn finished(texts: &[&str]) -> FinishedTurn {
    FinishedTurn {
        answer: None,
        exit: chorus::store::EndReason::Answered,
        steps: 1,
        usage: Usage::default(),
        cost: Cost::Usd(0.0),
        parts: texts.iter().map(|text| NewPart::notice(*text)).collect(),
        may_go_on: false,
        first: FirstPart::Waits,
        attached: AttachedRows::default(),
        report: None,
        planned: None,
    }
}
