//! How a profile decides on a shell command.
//!
//! A deny applies to the text, to every command in it and to everything that those run in turn. An allow must match every
//! command as written, and a pattern that is not universal never allows what cannot be judged by its text.

use super::action::Action;
use super::cover::{self, Spent, Uncovered};
use super::decide::{Verdict, asked, unmatched};
use super::pattern::{Pattern, PatternScope};
use super::profile::Profile;
use super::shell::{Script, Simple};

/// Most deny checks for one command line; one that needs more counts as hiding something.
const MAX_CHECKS: usize = 100_000;

impl Profile {
    /// Whether a deny matches any part of `script`.
    pub(super) fn denied_inside(&self, action: &Action, script: &Script) -> Option<Verdict> {
        if self.deny.is_empty() {
            return None;
        }
        let whole = std::iter::once(action.detail.as_str());
        whole
            .chain(script.forms())
            .take(MAX_CHECKS / self.deny.len())
            .find_map(|form| {
                let pattern = self.denies_command(action, form)?;
                let seen = if form == action.detail {
                    String::new()
                } else {
                    format!(", as `{}`", crate::text::one_line(form, 200))
                };
                Some(Verdict::deny(format!(
                    "denied by `{}`{seen}",
                    pattern.source()
                )))
            })
    }

    /// The first pattern of `deny` that matches `command` of `action`, with or without its surroundings.
    fn denies_command(&self, action: &Action, command: &str) -> Option<&Pattern> {
        let text = format!("tool:{}:{command}", action.tool);
        let suffix = action.suffix(command);
        self.denies(&text).or_else(|| match suffix.as_str() {
            "" => None,
            suffix => self.denies(&format!("{text}{suffix}")),
        })
    }

    /// The first pattern of `ask` that matches `command` of `action`, with or without its surroundings.
    fn asks_about(&self, action: &Action, command: &str) -> Option<&Pattern> {
        let text = format!("tool:{}:{command}", action.tool);
        self.asks(&format!("{text}{}", action.suffix(command)))
            .or_else(|| self.asks(&text))
    }

    /// Decides on `script`, which nothing denies and no entry of `always_allow` allows.
    pub(super) fn decide_script(&self, action: &Action, text: &str, script: &Script) -> Verdict {
        let universal = self.allow.iter().find(|pattern| {
            matches!(pattern.matches(text), Ok(true))
                && pattern.scope(&action.tool) == PatternScope::Everything
        });
        if let Some(pattern) = universal {
            return match self.hidden(action, script) {
                None => Verdict::allow_whole(format!("allowed by `{}`", pattern.source())),
                Some(doubt) => self.doubtful(action, script, &doubt),
            };
        }
        if let Some(doubt) = action.doubt() {
            return self.doubtful(action, script, &doubt);
        }
        if script.commands().is_empty() {
            return self.doubtful(action, script, "it holds no command");
        }
        let mut verdict = self.joined(action, script);
        let spent = Spent::default();
        for command in script.commands() {
            verdict = verdict.and(self.part(action, command, &spent));
        }
        verdict
    }

    /// Why a deny may be hidden in what would otherwise be allowed, if so.
    fn hidden(&self, action: &Action, script: &Script) -> Option<String> {
        let denies: Vec<&Pattern> = self
            .deny
            .iter()
            .filter(|pattern| pattern.may_speak_of(&action.tool))
            .collect();
        if denies.is_empty() {
            return None;
        }
        if let Some(reason) = script.hides() {
            return Some(reason.to_owned());
        }
        if script.forms().count() * self.deny.len() > MAX_CHECKS {
            return Some("it holds too many commands".to_owned());
        }
        let tokens: Vec<&str> = denies
            .iter()
            .flat_map(|pattern| pattern.literals())
            .collect();
        let guesses = script.guesses(&tokens);
        let guesses = guesses.filter(|guesses| guesses.len() * denies.len() <= MAX_CHECKS);
        let Some(guesses) = guesses else {
            return Some("too much of it is known only when it runs".to_owned());
        };
        guesses
            .iter()
            .find(|guess| self.denies_command(action, guess).is_some())
            .map(|guess| format!("it may become `{}`", crate::text::one_line(guess, 100)))
    }

    /// The decision on a command that may not be allowed automatically.
    ///
    /// A pattern that asks about everything asks. Any other pattern is about one command, and applies only where there is
    /// just one.
    fn doubtful(&self, action: &Action, script: &Script, doubt: &str) -> Verdict {
        let bare = format!("tool:{}:{}", action.tool, action.detail);
        let text = action.to_string();
        let speaks = |pattern: &&Pattern| {
            [&text, &bare]
                .into_iter()
                .any(|text| matches!(pattern.matches(text), Ok(true)))
                && (pattern.scope(&action.tool) == PatternScope::Everything || script.is_single())
        };
        match self.ask.iter().find(speaks) {
            Some(pattern) => Verdict::ask(asked(pattern, Some(doubt))),
            None => Verdict::deny(unmatched(Some(doubt))),
        }
    }

    /// The decision on what joins the commands: on the whole line and each run of commands in it, so that a command before
    /// or after another removes no question. A pattern that asks about everything leaves the decision to the parts.
    fn joined(&self, action: &Action, script: &Script) -> Verdict {
        let narrow: Vec<&Pattern> = self
            .ask
            .iter()
            .filter(|pattern| pattern.scope(&action.tool) == PatternScope::Narrow)
            .collect();
        // How far it is allowed, its parts say.
        let allowed = Verdict::allow_whole("every command in it is allowed");
        if script.commands().len() == 1 || narrow.is_empty() {
            return allowed;
        }
        let Some(runs) = script.runs() else {
            return Verdict::ask("it holds too many commands to look at each run of them");
        };
        let asks = |run: &str| {
            let bare = format!("tool:{}:{run}", action.tool);
            let text = format!("{bare}{}", action.suffix(run));
            let says = |pattern: &Pattern, text| matches!(pattern.matches(text), Ok(true));
            if self.allow.iter().any(|pattern| says(pattern, &text)) {
                return None;
            }
            let asks = |pattern: &&&Pattern| says(pattern, &text) || says(pattern, &bare);
            narrow.iter().find(asks).copied()
        };
        match runs.into_iter().find_map(asks) {
            Some(pattern) => Verdict::ask(asked(pattern, None)),
            None => allowed,
        }
    }

    fn part(&self, action: &Action, command: &Simple, spent: &Spent) -> Verdict {
        let suffix = action.suffix(&command.text);
        let text = format!("tool:{}:{}{suffix}", action.tool, command.text);
        let mut uncovered: Option<Uncovered> = None;
        for pattern in &self.allow {
            if !matches!(pattern.matches(&text), Ok(true)) {
                continue;
            }
            match cover::uncovered_part(pattern, action, command, spent) {
                None => {
                    let reason = format!("allowed by `{}`", pattern.source());
                    return match pattern.scope(&action.tool) {
                        PatternScope::Everything | PatternScope::AllBut => {
                            Verdict::allow_whole(reason)
                        }
                        PatternScope::Narrow => Verdict::allow(reason),
                    };
                }
                Some(found) => uncovered = Some(found),
            }
        }
        let doubt = uncovered.map(|uncovered| uncovered.to_string());
        match self.asks_about(action, &command.text) {
            Some(pattern) => Verdict::ask(asked(pattern, doubt.as_deref())),
            None => Verdict::deny(format!(
                "`{}`: {}",
                crate::text::one_line(&command.text, 100),
                unmatched(doubt.as_deref())
            )),
        }
    }
}
