//! How a profile decides on a shell command.
//!
//! A deny applies to the text, to every command in it and to every command that those run in turn. An allow must match
//! every command as written, and a pattern that is not universal never allows a part that cannot be judged by its text.

use super::action::Action;
use super::cover::{self, Uncovered};
use super::decide::{Verdict, asked, unmatched};
use super::effort::Effort;
use super::pattern::{Pattern, PatternScope};
use super::profile::Profile;
use shell_verdict::{Script, Simple};

impl Profile {
    /// Returns the denial of any part of `script`, if a deny matches one.
    pub(super) fn denied_inside(
        &self,
        action: &Action,
        script: &Script,
        effort: &Effort,
    ) -> Option<Verdict> {
        if self.deny.is_empty() {
            return None;
        }
        let whole = std::iter::once(action.detail.as_str());
        for form in whole.chain(script.forms()) {
            let denied = self.denies_command(action, form, effort);
            if effort.is_spent() {
                return Some(self.untried(action));
            }
            if let Some(pattern) = denied {
                let seen = if form == action.detail {
                    String::new()
                } else {
                    format!(", as `{}`", crate::text::one_line(form, 200))
                };
                return Some(Verdict::deny(format!(
                    "denied by `{}`{seen}",
                    pattern.source()
                )));
            }
        }
        None
    }

    /// Returns the first pattern of `deny` that matches `command` of `action`, with or without its surroundings.
    fn denies_command(&self, action: &Action, command: &str, effort: &Effort) -> Option<&Pattern> {
        let text = format!("tool:{}:{command}", action.tool);
        let suffix = action.suffix(command);
        self.denies(&text, effort)
            .or_else(|| match suffix.as_str() {
                "" => None,
                suffix => self.denies(&format!("{text}{suffix}"), effort),
            })
    }

    /// Returns the first pattern of `ask` that matches `command` of `action`, with or without its surroundings.
    fn asks_about(&self, action: &Action, command: &str, effort: &Effort) -> Option<&Pattern> {
        let text = format!("tool:{}:{command}", action.tool);
        self.asks(&format!("{text}{}", action.suffix(command)), effort)
            .or_else(|| self.asks(&text, effort))
    }

    /// Decides on `script`, which nothing denies and no entry of `always_allow` allows.
    pub(super) fn decide_script(
        &self,
        action: &Action,
        text: &str,
        script: &Script,
        effort: &Effort,
    ) -> Verdict {
        // It is one match, however long the text is.
        let universal = self.allow.iter().find(|pattern| {
            pattern.scope(&action.tool) == PatternScope::Everything
                && matches!(pattern.matches(text), Ok(true))
        });
        if let Some(pattern) = universal {
            let hidden = self.hidden(action, script, effort);
            return match hidden {
                _ if effort.is_spent() => self.untried(action),
                None => Verdict::allow_whole(format!("allowed by `{}`", pattern.source())),
                Some(doubt) => self.doubtful(action, script, &doubt, effort),
            };
        }
        if let Some(doubt) = action.doubt() {
            return self.doubtful(action, script, &doubt, effort);
        }
        if script.commands().is_empty() {
            return self.doubtful(action, script, "it holds no command", effort);
        }
        let mut verdict = self.joined(action, script, effort);
        for command in script.commands() {
            if effort.is_spent() {
                return self.untried(action);
            }
            verdict = verdict.and(self.part(action, command, effort));
        }
        if effort.is_spent() {
            return self.untried(action);
        }
        verdict
    }

    /// Returns why an otherwise allowed command may hide one that is denied, if so.
    fn hidden(&self, action: &Action, script: &Script, effort: &Effort) -> Option<String> {
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
        let tokens: Vec<&str> = denies
            .iter()
            .flat_map(|pattern| pattern.literals())
            .collect();
        let Some(guesses) = script.guesses(&tokens) else {
            return Some("too much of it is known only when it runs".to_owned());
        };
        guesses
            .iter()
            .take_while(|_| !effort.is_spent())
            .find(|guess| self.denies_command(action, guess, effort).is_some())
            .map(|guess| format!("it may become `{}`", crate::text::one_line(guess, 100)))
    }

    /// Returns the decision on a command that may not be allowed automatically.
    ///
    /// A pattern that asks about everything asks. Any other pattern is about one command, and applies only if there is
    /// just one.
    fn doubtful(&self, action: &Action, script: &Script, doubt: &str, effort: &Effort) -> Verdict {
        let bare = format!("tool:{}:{}", action.tool, action.detail);
        let text = action.to_string();
        let is_single = script.is_single();
        let speaks = |pattern: &&Pattern| match pattern.scope(&action.tool) {
            PatternScope::Everything => true,
            PatternScope::AllBut | PatternScope::Narrow => {
                is_single
                    && [&text, &bare]
                        .into_iter()
                        .any(|text| matches!(pattern.matches_within(text, effort), Ok(true)))
            }
        };
        let asks = self.ask.iter().find(speaks);
        if effort.is_spent() {
            return self.untried(action);
        }
        match asks {
            Some(pattern) => Verdict::ask(asked(pattern, Some(doubt))),
            None => Verdict::deny(unmatched(Some(doubt))),
        }
    }

    /// Returns the decision on the combination of commands: on the whole line and each run of commands in it, so that a
    /// command before or after another removes no question. A pattern that asks about everything leaves the decision to
    /// the parts.
    fn joined(&self, action: &Action, script: &Script, effort: &Effort) -> Verdict {
        let narrow: Vec<&Pattern> = self
            .ask
            .iter()
            .filter(|pattern| pattern.scope(&action.tool) == PatternScope::Narrow)
            .collect();
        // Its parts determine how far it is allowed.
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
            let says = |pattern: &Pattern, text: &str| {
                matches!(pattern.matches_within(text, effort), Ok(true))
            };
            if self.allow.iter().any(|pattern| says(pattern, &text)) {
                return None;
            }
            let asks = |pattern: &&&Pattern| says(pattern, &text) || says(pattern, &bare);
            narrow.iter().find(asks).copied()
        };
        let mut runs = runs.into_iter().take_while(|_| !effort.is_spent());
        match runs.find_map(asks) {
            Some(pattern) => Verdict::ask(asked(pattern, None)),
            None => allowed,
        }
    }

    fn part(&self, action: &Action, command: &Simple, effort: &Effort) -> Verdict {
        let suffix = action.suffix(command.text());
        let text = format!("tool:{}:{}{suffix}", action.tool, command.text());
        let mut uncovered: Option<Uncovered> = None;
        for pattern in self.allow.iter().take_while(|_| !effort.is_spent()) {
            if !matches!(pattern.matches_within(&text, effort), Ok(true)) {
                continue;
            }
            match cover::uncovered_part(pattern, action, command, effort) {
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
        match self.asks_about(action, command.text(), effort) {
            Some(pattern) => Verdict::ask(asked(pattern, doubt.as_deref())),
            None => Verdict::deny(format!(
                "`{}`: {}",
                crate::text::one_line(command.text(), 100),
                unmatched(doubt.as_deref())
            )),
        }
    }
}
