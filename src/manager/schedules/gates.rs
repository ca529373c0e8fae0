//! Gates: commands that decide whether a run has anything to do (S1g).

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::Schedules;
use crate::agent::event::Event;
use crate::agent::{GateVerdict, HandedRun, gate_binding};
use crate::domain::ChannelId;
use crate::manager::directory::registry::AgentSummary;
use crate::store::{NewPart, OutFile, RunEnd, RunOf, RunPost, ScheduleKind, SlotState, StoreError};
use crate::text::escape;
use crate::tools::gate::Gated;

/// Gates that run at once in the daemon.
const AT_ONCE: usize = 4;

/// Characters of an output that is posted as text; a longer one is a file.
const POSTED: usize = 2_000;

/// Why a gate fails that the end of the daemon interrupted.
pub(super) const INTERRUPTED: &str = "the gate was interrupted";

/// The gates that run, and those that wait.
#[derive(Debug)]
pub(super) struct Gates {
    places: Arc<Semaphore>,
    pub(super) tasks: TaskTracker,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tasks: TaskTracker::new(),
        }
    }
}

/// The run of a gate.
pub(super) struct GateRun {
    pub(super) of: RunOf,
    pub(super) agent: AgentSummary,
    pub(super) channel: ChannelId,
    pub(super) handed: HandedRun,
}

impl Schedules {
    /// Runs the gate of a run, and does what follows from its output.
    pub(super) async fn pass_gate(&self, run: GateRun, gate: String, stop: CancellationToken) {
        let place = stop.run_until_cancelled(Arc::clone(&self.gates.places).acquire_owned());
        // Without a place the daemon stops; the run is still due.
        let Some(Ok(_place)) = place.await else {
            return;
        };
        let key = run.of.run.key;
        if let Err(error) = self.gated(run, &gate, stop).await {
            warn!(
                schedule = key.schedule,
                "failed to store what came of a gate: {error}"
            );
        }
    }

    async fn gated(
        &self,
        run: GateRun,
        gate: &str,
        stop: CancellationToken,
    ) -> Result<(), StoreError> {
        let GateRun {
            of,
            agent,
            channel,
            handed,
        } = run;
        let identity = self.directory.identity(&agent);
        let binding = of.schedule.schedule.gate_binding.as_deref();
        let refused = match self.deps.judge_gate(&identity, gate).await {
            GateVerdict::Allowed => None,
            GateVerdict::Asks if binding == Some(gate_binding(agent.id, gate).as_str()) => None,
            GateVerdict::Asks => Some(
                "the agent's profile asks before this gate runs; approve it with `/schedule edit`"
                    .to_owned(),
            ),
            GateVerdict::Denied(rule) => Some(format!("the gate may not run: {rule}")),
        };
        if let Some(why) = refused {
            self.fail(&of, Some(channel), &why).await?;
            handed.settled();
            return Ok(());
        }
        if !self.deps.store.start_gate(of.run.key).await? {
            // It was skipped or deleted meanwhile.
            handed.settled();
            return Ok(());
        }
        let gated = self.deps.run_gate(&identity, gate, stop.clone()).await;
        if stop.is_cancelled() && matches!(gated, Gated::Failed(_)) {
            // The next start says it.
            return Ok(());
        }
        match gated {
            Gated::Nothing => {
                info!(schedule = of.run.key.schedule, "a gate printed nothing");
                let end = RunEnd {
                    reason: None,
                    ..RunEnd::unseen(of.run.key, SlotState::Quiet, "")
                };
                self.end(&of, end).await?;
                handed.settled();
            }
            Gated::Failed(why) => {
                self.fail(&of, Some(channel), &why).await?;
                handed.settled();
            }
            Gated::Printed(output) if of.schedule.schedule.kind == ScheduleKind::Post => {
                self.post(&of, channel, &output).await?;
                handed.settled();
            }
            Gated::Printed(output) => {
                self.hand_over(of, &agent, Some(&output), handed).await?;
            }
        }
        Ok(())
    }

    /// S3: posts the output of a gate, and ends its run.
    async fn post(&self, of: &RunOf, channel: ChannelId, output: &str) -> Result<(), StoreError> {
        let text = of.schedule.schedule.body.as_str();
        let late = self.late_line(of).unwrap_or_default();
        let head = if text.is_empty() {
            late
        } else {
            format!("{late}{text}\n")
        };
        let whole = format!("{head}{}", escape::lines(output));
        let mut part = NewPart::notice("");
        if whole.chars().count() <= POSTED {
            part.body.content = whole;
        } else {
            part.body.content = head;
            part.body.files = vec![OutFile::Text {
                name: "output.txt".to_owned(),
                text: output.to_owned(),
            }];
        }
        let end = RunEnd {
            reason: None,
            posts: vec![RunPost { channel, part }],
            ..RunEnd::unseen(of.run.key, SlotState::Done, "")
        };
        self.end(of, end).await?;
        self.deps.emit(Event::Outbox(channel));
        Ok(())
    }

    /// Ends runs whose gates the end of the daemon interrupted: a gate does not run again.
    pub(super) async fn close_interrupted_gates(&self) -> Result<(), StoreError> {
        for of in self.deps.store.interrupted_gates().await? {
            let agent = self.directory.agent(of.schedule.schedule.agent);
            let channel = of.schedule.schedule.thread;
            let channel = channel.or(agent.and_then(|agent| agent.channel));
            self.fail(&of, channel, INTERRUPTED).await?;
        }
        Ok(())
    }
}
