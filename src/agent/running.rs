//! The turns of an actor: how they are started, handed messages, ended, and what follows their end.

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error, info_span, warn};

use crate::clock;
use crate::domain::{ConversationId, Inbound, TurnId};

use super::actor::{Actor, Done};
use super::conversation::{Conversation, Items, Running};
use super::event::Progress;
use super::mailbox::{Mode, Source, Stopped, Target, Trigger};
use super::stop::{Stop, StopSignal};
use super::turn::{self, TurnEnd, TurnParams};

impl Actor {
    /// Hands `trigger` to the running turn, or starts one with it.
    pub(super) async fn give(&mut self, id: ConversationId, trigger: Trigger) {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return;
        };
        conversation.last_activity = clock::now();
        let Some(running) = &mut conversation.turn else {
            self.start(id, trigger);
            return;
        };
        let late = match trigger {
            Trigger {
                source: Source::Message(message),
                model: None,
                mode,
            } => match running.hand(*message) {
                None => return,
                Some(back) => Trigger {
                    mode,
                    ..Trigger::message(back)
                },
            },
            other => other,
        };
        running.wanted.cancel();
        conversation.waiting.push_back(late);
    }

    fn start(&mut self, id: ConversationId, trigger: Trigger) {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return;
        };
        let items = match std::mem::replace(&mut conversation.items, Items::Lent) {
            Items::Here(items) => Some(items),
            Items::Stored => None,
            Items::Lent => {
                warn!(agent.id = %self.agent.id, "a conversation belongs to a turn that does not run; reading it again");
                None
            }
        };
        let turn = TurnId::random();
        let stop = StopSignal::default();
        let wanted = CancellationToken::new();
        let (steer, steered) = mpsc::unbounded_channel();
        let (progress, progress_seen) = watch::channel(Progress::begin());
        let params = TurnParams {
            turn,
            conversation: id,
            branch: conversation.branch,
            channel: conversation.channel,
            items,
            calibration: conversation.calibration,
            len: conversation.len.clone(),
            trigger,
            steered,
            stop: stop.clone(),
            wanted: wanted.clone(),
            progress,
        };
        conversation.turn = Some(Running {
            id: turn,
            steer,
            handed: Vec::new(),
            stop,
            wanted,
            progress: progress_seen,
            _hold: self.timer.hold(),
        });
        let span = info_span!(
            parent: None,
            "turn",
            otel.name = %format_args!("invoke_agent {}", self.agent.name),
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.id = %self.agent.id,
            gen_ai.agent.name = %self.agent.name,
            gen_ai.conversation.id = %id,
            turn.id = %turn,
        );
        let (deps, agent) = (self.deps.clone(), self.agent.clone());
        let others = self.other_branches(id);
        self.work.spawn(
            async move { Done::Turn(id, turn::run(deps, agent, others, params).await) }
                .instrument(span),
        );
        self.deps.count_turn(self.agent.id, 1);
    }

    /// Other conversations at work, a line each.
    fn other_branches(&self, but: ConversationId) -> Vec<String> {
        let busy = self.conversations.values().filter(|other| other.id != but);
        busy.filter_map(|other| {
            let turn = other.turn.as_ref()?;
            let name = other
                .branch
                .map_or("main".to_owned(), |number| format!("#{number}"));
            Some(format!("{name} ({})", turn.progress.borrow().doing))
        })
        .collect()
    }

    /// One of the actor's tasks ended; what waits for the end of a turn begins.
    pub(super) async fn work_done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Turn(id, end)) => {
                self.take_back(id, end);
                self.go_on(id).await;
            }
            Ok(Done::IdleSave(fired, saves)) => self.farewell(fired, saves).await,
            Err(panic) => {
                for id in self.turn_broke_off(&panic).await {
                    self.go_on(id).await;
                }
            }
        }
    }

    /// Takes back what a turn had; what came too late for it waits.
    fn take_back(&mut self, id: ConversationId, end: TurnEnd) {
        self.deps.count_turn(self.agent.id, -1);
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return;
        };
        conversation.turn = None;
        conversation.last_activity = clock::now();
        match end.items {
            Some(items) => conversation.put(items),
            None => conversation.items = Items::Stored,
        }
        conversation.calibration = end.calibration;
        if let Some(saved) = end.saved {
            conversation.saved = saved;
        }
        conversation.wait_again(end.leftover);
    }

    /// Starts a turn with what waits in a conversation; where nothing does, the silence begins.
    async fn go_on(&mut self, id: ConversationId) {
        let next = match self.conversations.get_mut(&id) {
            Some(conversation) => conversation.waiting.pop_front(),
            None => return,
        };
        match next {
            Some(next) => {
                self.start(id, next);
                self.hand_on(id);
            }
            None => self.rearm().await,
        }
    }

    /// Starts what was held back while turns were ended for a command.
    pub(super) async fn go_on_everywhere(&mut self) {
        let idle = |conversation: &&Conversation| {
            conversation.turn.is_none() && !conversation.waiting.is_empty()
        };
        let held: Vec<ConversationId> = self
            .conversations
            .values()
            .filter(idle)
            .map(|conversation| conversation.id)
            .collect();
        for id in held {
            self.go_on(id).await;
        }
    }

    /// Hands what still waits to the turn that just began.
    fn hand_on(&mut self, id: ConversationId) {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return;
        };
        let Some(running) = &mut conversation.turn else {
            return;
        };
        while let Some(next) = conversation.waiting.pop_front() {
            let Trigger {
                source: Source::Message(message),
                model: None,
                mode: Mode::Standard,
            } = next
            else {
                conversation.waiting.push_front(next);
                return;
            };
            if let Some(back) = running.hand(*message) {
                conversation.waiting.push_front(Trigger::message(back));
                return;
            }
        }
    }

    /// A turn's task panicked. The ledger knows how far it came; it is closed as failed, and what had been handed to it
    /// waits for the next turn. Gives the conversations that are free again.
    pub(super) async fn turn_broke_off(
        &mut self,
        panic: &tokio::task::JoinError,
    ) -> Vec<ConversationId> {
        error!(agent.id = %self.agent.id, "a turn of {} panicked: {panic}", self.agent.name);
        self.deps.count_turn(self.agent.id, -1);
        let broken: Vec<ConversationId> = self
            .conversations
            .values()
            .filter(|conversation| {
                conversation
                    .turn
                    .as_ref()
                    .is_some_and(|turn| turn.steer.is_closed())
            })
            .map(|conversation| conversation.id)
            .collect();
        for id in &broken {
            let Some(conversation) = self.conversations.get_mut(id) else {
                continue;
            };
            let Some(turn) = conversation.turn.take() else {
                continue;
            };
            conversation.items = Items::Stored;
            // What the turn had taken in is claimed in the ledger, and does not begin another one.
            conversation.wait_again(turn.handed);
            turn::close_broken(
                &self.deps,
                &self.agent,
                conversation.channel,
                conversation.branch,
                turn.id,
            )
            .await;
        }
        broken
    }

    /// Asks turns to stop, for a person.
    pub(super) fn stop_for(&mut self, target: Target, stop: Stop) -> Stopped {
        match self.ask_to_stop(target, stop) {
            0 => Stopped::Nothing,
            turns => Stopped::Turns(turns),
        }
    }

    /// Asks turns to stop; says how many were asked.
    fn ask_to_stop(&mut self, target: Target, stop: Stop) -> usize {
        let mut asked = 0;
        for conversation in self.conversations.values_mut() {
            if !target.covers(conversation) {
                continue;
            }
            if let Some(turn) = &conversation.turn {
                turn.stop.ask(stop, &self.acts_for);
                asked += 1;
            }
        }
        asked
    }

    /// Ends turns and waits until they have. What waits to start there is held back, for
    /// [`Self::go_on_everywhere`]; while the daemon stops it stays in the queue of the ledger instead.
    pub(super) async fn end_turns(&mut self, target: Target, stop: Stop) -> usize {
        // A target that names the turn covers nothing any more once that has ended.
        let ending: Vec<ConversationId> = self
            .conversations
            .values()
            .filter(|conversation| target.covers(conversation))
            .map(|conversation| conversation.id)
            .collect();
        let ended = self.ask_to_stop(target, stop);
        if stop == Stop::Shutdown {
            self.forget_waiting();
        }
        while self.any_runs(&ending) {
            let Some(done) = self.work.join_next().await else {
                break;
            };
            match done {
                Ok(Done::Turn(id, end)) => {
                    self.take_back(id, end);
                    self.go_on_unless(&ending, id).await;
                }
                Ok(Done::IdleSave(..)) => {}
                Err(panic) => {
                    for id in self.turn_broke_off(&panic).await {
                        self.go_on_unless(&ending, id).await;
                    }
                }
            }
            if stop == Stop::Shutdown {
                // It stays unclaimed in the ledger; the next start takes it up.
                self.forget_waiting();
            }
        }
        if ended > 0 && stop != Stop::Shutdown {
            self.rearm().await;
        }
        ended
    }

    fn forget_waiting(&mut self) {
        for conversation in self.conversations.values_mut() {
            conversation.waiting.clear();
        }
    }

    /// Starts what waits in a conversation that is not being ended.
    async fn go_on_unless(&mut self, ending: &[ConversationId], id: ConversationId) {
        if !ending.contains(&id) {
            self.go_on(id).await;
        }
    }

    fn any_runs(&self, conversations: &[ConversationId]) -> bool {
        let runs = |id| {
            self.conversations
                .get(id)
                .is_some_and(|conversation| conversation.turn.is_some())
        };
        conversations.iter().any(runs)
    }

    /// Starts what was held back, and waits until nothing runs any more.
    pub(super) async fn work_off(&mut self) {
        self.go_on_everywhere().await;
        let all: Vec<ConversationId> = self.conversations.keys().copied().collect();
        while self.any_runs(&all) {
            match self.work.join_next().await {
                None => break,
                Some(Ok(Done::IdleSave(..))) => {}
                Some(done) => self.work_done(done).await,
            }
        }
    }
}

impl Running {
    /// Hands it a message, which comes back where the turn takes no more.
    fn hand(&mut self, message: Inbound) -> Option<Inbound> {
        if let Err(back) = self.steer.send(message.clone()) {
            return Some(back.0);
        }
        self.handed.push(message);
        None
    }
}

impl Target {
    /// Whether `conversation` is meant.
    pub(super) fn covers(self, conversation: &Conversation) -> bool {
        match self {
            Self::Channel(channel) => conversation.channel == channel,
            Self::Turn(turn) => conversation
                .turn
                .as_ref()
                .is_some_and(|running| running.id == turn),
            Self::Conversation(id) => conversation.id == id,
            Self::Branch(number) => conversation.branch == Some(number),
            Self::Threads(channel) => {
                conversation.branch.is_some() && conversation.channel != channel
            }
            Self::Branches => conversation.branch.is_some(),
            Self::All => true,
        }
    }
}
