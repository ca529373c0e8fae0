//! Has a small model read long outputs for a turn: at the turn's cost, within its budgets and until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Turn;
use super::prompt;
use crate::agent::auxiliary::{Asker, AuxiliaryRequest, NoAnswer};
use crate::agent::deps::AgentDeps;
use crate::agent::stop::deadline::Deadline;
use crate::agent::stop::work_clock::WorkClock;
use crate::domain::{AttemptKind, Mode, StopReason};
use crate::llm::Target;
use crate::llm::route::StepFailure;
use crate::tools::ports::{PortError, Reader};

/// How long one page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes that count as one token, as in estimates.
const BYTES_A_TOKEN: f64 = 4.0;

/// A model that reads for one call of a turn.
struct OutputReader {
    deps: Arc<AgentDeps>,
    /// Empty where no model is available.
    targets: Vec<Target>,
    asker: Asker,
    /// Half of its window, in bytes.
    page: usize,
    clock: WorkClock,
}

impl std::fmt::Debug for OutputReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputReader")
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}

/// The reader for a call of this step: the model of the tier `lightweight`, else the turn's own.
pub(in crate::agent) fn reader(turn: &Turn) -> Arc<dyn Reader> {
    let (context, deps) = (&turn.context, &turn.context.deps);
    let effective = deps.effective(&context.agent, &turn.setup.config);
    let light = effective.server.tiers.of(Mode::Lightweight).cloned();
    let light = light.and_then(|name| deps.models.targets(&[name]).ok());
    let light = light.and_then(|targets| context.within(&turn.setup, targets).ok());
    let targets = light.or_else(|| context.targets(&turn.setup).ok());
    let targets = targets.unwrap_or_default();
    let dense = turn.transcript.context_meter.density();
    let half = deps.room(&targets) as f64 / 2.0;
    Arc::new(OutputReader {
        asker: asker(turn),
        page: (half / dense * BYTES_A_TOKEN) as usize,
        clock: turn.clock.clone(),
        deps: Arc::clone(deps),
        targets,
    })
}

/// Who asks beside its steps: charged to the run, within all limits of its own requests.
pub(in crate::agent) fn asker(turn: &Turn) -> Asker {
    Asker {
        spender: turn.context.spender(),
        caps: turn.context.caps(&turn.setup),
        lane: turn.lane(),
        reach: turn.setup.reach(),
    }
}

#[async_trait]
impl Reader for OutputReader {
    fn page(&self) -> usize {
        self.page
    }

    async fn answer(
        &self,
        question: &str,
        page: &str,
        stop: &CancellationToken,
    ) -> Result<String, PortError> {
        if self.targets.is_empty() {
            return Err(PortError::Refused("no model can be asked".to_owned()));
        }
        let tag = &Uuid::new_v4().simple().to_string()[..12];
        let request = AuxiliaryRequest {
            system: prompt::READING,
            text: format!("<output id=\"{tag}\">\n{page}\n</output id=\"{tag}\">\n\n{question}"),
            kind: AttemptKind::Reading,
        };
        let mut deadline = Deadline::new(stop, PAGE_TIMEOUT).on(&self.clock);
        let asked =
            self.deps
                .ask_auxiliary(&self.targets, self.asker.clone(), request, &mut deadline);
        let refused = |why: NoAnswer| PortError::Refused(why.to_string());
        let answered = asked.await.map_err(|failure| match failure {
            StepFailure::Stopped if stop.is_cancelled() => {
                PortError::Refused("it was stopped".to_owned())
            }
            failure => refused(NoAnswer::of(failure, PAGE_TIMEOUT)),
        })?;
        let text = answered.reply.assistant.text.trim().to_owned();
        match answered.reply.stop {
            StopReason::Refusal => Err(refused(NoAnswer::Declined)),
            _ if text.is_empty() => Err(refused(NoAnswer::Empty)),
            _ => Ok(text),
        }
    }
}
