//! The turns of an actor: how they are started, handed messages and ended, and what follows their end.

use tokio::sync::{mpsc, watch};
use tokio::task::Id;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span, warn};

use super::{Actor, Done, Ending};
use crate::agent::conversation::job::Job;
use crate::agent::conversation::mailbox::{Stopped, Target};
use crate::agent::conversation::{Conversation, Items, Running};
use crate::agent::event::Progress;
use crate::agent::run;
use crate::agent::stop::{Stop, StopSignal, Stopper};
use crate::agent::turn::trigger::{Overrides, Source, Trigger};
use crate::agent::turn::{TurnEnd, TurnParams};
use crate::clock;
use crate::domain::{ConversationId, Inbound, TurnId};

impl Actor {
    /// Hands `trigger` to the running turn, or starts one with it.
    pub(super) fn give(&mut self, id: ConversationId, trigger: Trigger) {
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
                overrides,
                ..
            } if overrides.let_steer() => match running.hand(message) {
                None => return,
                Some(back) => Trigger::new(Source::Message(back), overrides),
            },
            other => Trigger::new(other.source, other.overrides),
        };
        running.wanted.cancel();
        conversation.waiting.push_back(late);
    }

    fn start(&mut self, id: ConversationId, trigger: Trigger) {
        let others = self.other_branches(id);
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
        let progress = watch::Sender::new(Progress::begin());
        let seen = progress.clone();
        let params = TurnParams {
            turn,
            conversation: id,
            branch: conversation.branch,
            channel: conversation.channel,
            role: conversation.role.clone(),
            items,
            seed: conversation.seed.clone(),
            calibration: conversation.calibration,
            len: conversation.len.clone(),
            has_kept_notes: conversation.has_kept_notes.clone(),
            steered,
            strays: self.strays.0.clone(),
            stop: stop.clone(),
            wanted: wanted.clone(),
            progress,
        };
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
        let running = self.work.spawn(
            async move { Done::Turn(id, run::run(deps, agent, others, trigger, params).await) }
                .instrument(span),
        );
        conversation.turn = Some(Running {
            id: turn,
            task: running.id(),
            steer,
            handed: Vec::new(),
            stop,
            wanted,
            progress: seen,
            _hold: self.timer.hold(),
        });
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

    /// Begins what waited for the end of a turn: the job of its conversation, else the next turn.
    pub(super) async fn turn_is_over(&mut self, id: ConversationId) {
        let conversation = self.conversations.get(&id);
        if conversation.is_some_and(|one| one.waits_for_turn_end()) {
            self.go_on_with_job(id).await
        } else {
            self.go_on(id)
        }
    }

    /// Takes back what a turn had; messages that came too late for it wait.
    pub(super) fn take_back(&mut self, id: ConversationId, end: TurnEnd) {
        self.deps.count_turn(self.agent.id, -1);
        if let Some(config) = &end.config {
            let timeout = self.deps.effective(&self.agent, config).idle_timeout;
            self.timer.set_timeout(timeout);
        }
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

    /// Starts a turn with what waits in a conversation; where nothing does, its silence begins.
    fn go_on(&mut self, id: ConversationId) {
        if self.begins_nothing() {
            return;
        }
        let conversation = self.conversations.get_mut(&id);
        let Some(conversation) = conversation.filter(|one| one.is_quiet()) else {
            return;
        };
        match conversation.waiting.pop_front() {
            Some(next) => {
                let next = Trigger {
                    has_waited: true,
                    ..next
                };
                self.start(id, next);
                self.hand_on(id);
            }
            None => self.silence_begins(),
        }
    }

    /// Starts what was held back while something else was done.
    pub(super) fn go_on_everywhere(&mut self) {
        let held: Vec<ConversationId> = self
            .conversations
            .values()
            .filter(|conversation| !conversation.waiting.is_empty())
            .map(|conversation| conversation.id)
            .collect();
        for id in held {
            self.go_on(id);
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
            let back = match next {
                Trigger {
                    source: Source::Message(message),
                    overrides,
                    ..
                } if overrides == Overrides::default() => {
                    running.hand(message).map(Trigger::message)
                }
                other => Some(other),
            };
            if let Some(back) = back {
                conversation.waiting.push_front(back);
                return;
            }
        }
    }

    /// The turn of this task panicked. The ledger knows how far it came; it is closed as failed, and what had been handed
    /// to it waits for the next turn. Returns the conversation, which is free again.
    pub(super) async fn turn_broke_off(&mut self, task: Id) -> Option<ConversationId> {
        let conversation = self.conversations.values_mut().find(|conversation| {
            let turn = conversation.turn.as_ref();
            turn.is_some_and(|turn| turn.task == task)
        })?;
        let turn = conversation.turn.take()?;
        self.deps.count_turn(self.agent.id, -1);
        conversation.items = Items::Stored;
        // What the turn had taken in is claimed in the ledger, and starts no other turn.
        conversation.wait_again(turn.handed);
        let id = conversation.id;
        let channel = conversation.channel;
        let turn = (turn.id, &turn.stop);
        run::close_broken(&self.deps, &self.agent, channel, turn).await;
        Some(id)
    }

    /// Stops turns, and whatever else is under way in the conversations that `target` covers, for a person.
    pub(super) fn stop_for(&mut self, target: Target, stop: Stop, by: &Stopper) -> Stopped {
        if let Target::Child(child) = target {
            return self.stop_child(child, stop, by);
        }
        if let Target::ChildIn(conversation) = target {
            let child = self.stops().find_map(|one| one.child_in(conversation));
            return child.map_or(Stopped::Nothing, |child| self.stop_child(child, stop, by));
        }
        for conversation in self.conversations.values_mut() {
            if target.covers(conversation) {
                conversation.defer_stop(stop, by);
            }
        }
        let compactions = self.stop_compactions(target);
        let summaries = self.stop_summaries(target);
        let last = self.stop_last_summaries(target);
        let idle = self.stop_idle_save(target);
        match self.ask_to_stop(target, stop, by) {
            0 if last > 0 => Stopped::LastSummary,
            0 if compactions > 0 => Stopped::Compaction,
            0 if summaries > 0 => Stopped::Summary,
            0 if idle > 0 => Stopped::IdleSave,
            0 => Stopped::Nothing,
            turns => Stopped::Turns(turns),
        }
    }

    /// Asks a child turn to stop; the turn that waits for it continues.
    fn stop_child(&self, child: TurnId, stop: Stop, by: &Stopper) -> Stopped {
        if self.stops().any(|one| one.ask_child(child, stop, by)) {
            Stopped::Child
        } else {
            Stopped::Nothing
        }
    }

    /// The signals of all turns that run.
    pub(super) fn stops(&self) -> impl Iterator<Item = &StopSignal> {
        let turns = self.conversations.values();
        turns.filter_map(|one| Some(&one.turn.as_ref()?.stop))
    }

    /// Asks turns to stop; returns how many.
    pub(super) fn ask_to_stop(&self, target: Target, stop: Stop, by: &Stopper) -> usize {
        let meant = self.covered_by(target);
        let turns = meant.filter_map(|conversation| conversation.turn.as_ref());
        turns.map(|turn| turn.stop.ask(stop, by)).count()
    }

    /// Ends compactions by hand; returns how many.
    pub(super) fn stop_compactions(&self, target: Target) -> usize {
        let jobs = self.jobs_of(target);
        jobs.filter(|job| job.stop_compaction()).count()
    }

    /// Ends the summaries that conversations are saved with; returns how many.
    fn stop_summaries(&self, target: Target) -> usize {
        self.jobs_of(target)
            .filter(|job| job.stop_summary())
            .count()
    }

    /// Ends the summaries that contexts are saved with before the agent is destroyed; returns how many.
    fn stop_last_summaries(&self, target: Target) -> usize {
        match &self.ending {
            Some(Ending::Destroy {
                saving: Some(saving),
                ..
            }) => saving.stops.stop(self.covered_by(target)),
            _ => 0,
        }
    }

    /// Ends an idle save; returns for how many conversations.
    fn stop_idle_save(&self, target: Target) -> usize {
        let saving = self.idle_saving.as_ref();
        saving.map_or(0, |saving| saving.stops.stop(self.covered_by(target)))
    }

    /// The turns that a request to stop is about.
    pub(super) fn turns_meant(&self, target: Target) -> Vec<TurnId> {
        let meant = self.covered_by(target);
        meant
            .filter_map(|one| Some(one.turn.as_ref()?.id))
            .collect()
    }

    /// Stores that a person stopped these turns, before that is answered: none of them goes on by itself after a crash.
    pub(super) async fn note_stops(&self, turns: &[TurnId]) {
        if turns.is_empty() {
            return;
        }
        if let Err(error) = self.deps.store.note_stops(turns).await {
            warn!(agent.id = %self.agent.id, "failed to store that turns were stopped: {error}");
        }
    }

    fn covered_by(&self, target: Target) -> impl Iterator<Item = &Conversation> {
        let all = self.conversations.values().map(|one| &**one);
        all.filter(move |conversation| target.covers(conversation))
    }

    fn jobs_of(&self, target: Target) -> impl Iterator<Item = &Job> {
        let meant = self.covered_by(target);
        meant.filter_map(|conversation| conversation.job.as_ref())
    }
}

impl Running {
    /// Hands the turn a message, which is returned where the turn takes no more.
    fn hand(&mut self, message: Box<Inbound>) -> Option<Box<Inbound>> {
        // Counted before the turn can take it in, or the count would never go down again.
        self.progress.send_modify(|progress| progress.waiting += 1);
        if let Err(back) = self.steer.send(message.clone()) {
            return Some(back.0);
        }
        self.handed.push(*message);
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
            // It is in a conversation of its own, which is not one of these.
            Self::Child(_) | Self::ChildIn(_) => false,
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
