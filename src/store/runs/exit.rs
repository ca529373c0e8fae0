//! Why a turn ended, in the terms of other agent programs.

use crate::domain::{AttemptOutcome, FailureClass};
use crate::store::codec::words;
use crate::store::turns::EndReason;

/// An exit in the terms of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitCode {
    pub code: &'static str,
    /// A more specific reason, if there is one.
    pub reason: Option<&'static str>,
}

words! {
    /// The missing part of a turn that ended without the report that its role requires.
    Lacking {
        Report = "final_report_missing",
        /// The report is there, but its fields are missing.
        Meta = "final_meta_missing",
    }
}

/// The facts about the end of a turn besides its exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndFacts {
    /// Whether it has an answer.
    pub has_answer: bool,
    /// The outcome of its last request to a model; `None` if it made none.
    pub last: Option<AttemptOutcome>,
    /// Its task panicked.
    pub broke_off: bool,
    /// The missing part of its report.
    pub lacking: Option<Lacking>,
}

/// Returns the exit code of a turn.
pub const fn exit_code(exit: EndReason, facts: EndFacts) -> ExitCode {
    let code = match exit {
        EndReason::Answered | EndReason::Refused => "EXIT-FINAL-ANSWER",
        EndReason::Stopped => "EXIT-USER-STOP",
        EndReason::Aborted | EndReason::Interrupted => "EXIT-SIGNAL-RECEIVED",
        EndReason::StepLimit | EndReason::Loop | EndReason::Errors | EndReason::BadCalls => {
            if facts.has_answer {
                "EXIT-MAX-TURNS-WITH-RESPONSE"
            } else {
                "EXIT-MAX-TURNS-NO-RESPONSE"
            }
        }
        EndReason::TimeLimit => "EXIT-INACTIVITY-TIMEOUT",
        EndReason::Budget | EndReason::Window => "EXIT-TOKEN-LIMIT",
        EndReason::Report => "EXIT-EMPTY-RESPONSE",
        EndReason::Failed => failed(facts),
    };
    let reason = match (exit, facts.lacking) {
        (EndReason::Report, Some(lacking)) => Some(lacking.as_str()),
        _ => None,
    };
    ExitCode { code, reason }
}

/// Returns the exit code of a turn without a model's answer, by its last error.
const fn failed(facts: EndFacts) -> &'static str {
    if facts.broke_off {
        return "EXIT-UNCAUGHT-EXCEPTION";
    }
    match facts.last {
        None => "EXIT-NO-PROVIDERS",
        // The model answered with nothing.
        Some(AttemptOutcome::Ok | AttemptOutcome::ToolError | AttemptOutcome::Stopped) => {
            "EXIT-EMPTY-RESPONSE"
        }
        Some(AttemptOutcome::Failed(class)) => match class {
            FailureClass::AuthError => "EXIT-AUTH-FAILURE",
            FailureClass::QuotaExceeded => "EXIT-QUOTA-EXCEEDED",
            FailureClass::ModelError | FailureClass::InvalidRequest => "EXIT-MODEL-ERROR",
            FailureClass::ContextExceeded => "EXIT-TOKEN-LIMIT",
            FailureClass::RateLimit
            | FailureClass::ServerError
            | FailureClass::NetworkError
            | FailureClass::Timeout
            | FailureClass::InvalidResponse => "EXIT-MAX-RETRIES",
        },
    }
}
