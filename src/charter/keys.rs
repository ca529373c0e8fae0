//! Reads the value of each key of a charter.

use std::time::Duration;

use super::compile::{Compiler, NAME, fold};
use super::file::Charter;
use super::role::{Compaction, ModelChoice, RoleMode, SeedPart};
use super::values::Expected;
use super::yaml::{Node, Yaml};
use crate::config::Effort;
use crate::domain::{Handoff, MOST_ADVISORS, MOST_HANDOFFS, OnFailure, ProfileRef, Router};
use crate::text;

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Compiler<'_> {
    pub(super) fn name(&mut self, value: &Node, charter: &Charter<'_>) -> Result<(), Expected> {
        let written = value.text()?.trim();
        self.role.title = text::one_line(written, NAME);
        if !charter.is_copilot() {
            self.role.name = fold(written);
            if written.chars().count() > NAME {
                return Err(Expected("at most 64 characters"));
            }
            if self.role.name.is_empty() {
                return Err(Expected("letters a to z, digits and hyphens"));
            }
        }
        Ok(())
    }

    pub(super) fn model(&mut self, value: &Node) -> Result<(), Expected> {
        let mut models = value.words()?.into_iter();
        if let Some((line, first)) = models.next()
            && let Some(model) = self.one_model("model", line, first)
        {
            self.role.model = model;
        }
        for (line, further) in models {
            self.fallback(line, further);
        }
        Ok(())
    }

    pub(super) fn fallback_models(&mut self, value: &Node) -> Result<(), Expected> {
        for (line, model) in value.words()? {
            self.fallback(line, model);
        }
        Ok(())
    }

    pub(super) fn fallback(&mut self, line: usize, name: &str) {
        if let Some(ModelChoice::Named(model)) = self.one_model("fallback_models", line, name) {
            self.role.fallback_models.push(model);
        }
    }

    pub(super) fn one_model(&mut self, key: &str, line: usize, name: &str) -> Option<ModelChoice> {
        match name {
            "inherit" | "auto" | "default" => return Some(ModelChoice::Inherit),
            "lightweight" | "full" => return Some(ModelChoice::Tier(name.to_owned())),
            _ => {}
        }
        let Some(find) = self.known.models else {
            return Some(ModelChoice::Named(name.to_owned()));
        };
        let Err(near) = find(name) else {
            return Some(ModelChoice::Named(name.to_owned()));
        };
        let found = spellings(name).into_iter().find(|name| find(name).is_ok());
        if let Some(found) = found {
            return Some(ModelChoice::Named(found));
        }
        let instead = near.first().map_or_else(
            || "write an id that `/models` lists, or `inherit`".to_owned(),
            |near| format!("did you mean {}?", text::code_span(near)),
        );
        self.doubt(
            line,
            key,
            format!("there is no model {}", text::code_span(name)),
            instead,
        );
        None
    }

    pub(super) fn effort(&mut self, value: &Node) -> Result<(), Expected> {
        self.role.effort = Some(match value.text()? {
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" | "xhigh" => Effort::High,
            _ => return Err(Expected("`low`, `medium` or `high`")),
        });
        Ok(())
    }

    pub(super) fn sections(&mut self, value: &Node) -> Result<(), Expected> {
        for (key, headings) in value.entries()? {
            let mode = mode(key)?;
            let mut kept = Vec::new();
            for (line, heading) in headings.words()? {
                if self.has_heading(heading) {
                    kept.push(heading.to_owned());
                } else {
                    let message = format!("the text has no heading {}", text::code_span(heading));
                    self.doubt(
                        line,
                        "sections",
                        message,
                        "write one that stands behind `## `",
                    );
                }
            }
            self.role.sections.insert(mode, kept);
        }
        Ok(())
    }

    pub(super) fn has_heading(&self, wanted: &str) -> bool {
        self.role
            .prompt
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .any(|heading| heading.trim() == wanted)
    }

    pub(super) fn permissions(&mut self, value: &Node) -> Result<(), Expected> {
        let profile = match &value.value {
            Yaml::Scalar { text, .. } => ProfileRef::Named(text.clone()),
            Yaml::Map(_) => {
                ProfileRef::Custom(value.json().as_object().cloned().unwrap_or_default())
            }
            Yaml::List(_) => {
                return Err(Expected("a profile's name, or `allow`, `ask` and `deny`"));
            }
        };
        match self.known.profiles.resolve(&profile) {
            Ok(_) => {
                self.role.own_profile = Some(profile.clone());
                self.role.permissions.push(profile);
            }
            // A narrowing that cannot be read must not be ignored.
            Err(error) => self.problem(
                value.line,
                "permissions",
                error.to_string(),
                "write a profile's name, or lists `allow`, `ask` and `deny`",
            ),
        }
        Ok(())
    }

    pub(super) fn permission_mode(&mut self, value: &Node) -> Result<(), Expected> {
        if value.text()? == "plan" {
            self.role
                .permissions
                .push(ProfileRef::Named("locked".to_owned()));
        } else {
            self.note(
                value.line,
                format!(
                    "`permissionMode: {}` means nothing here: a file grants nothing",
                    text::one_line(&text::visible(value.text()?).0, 40)
                ),
            );
        }
        Ok(())
    }

    pub(super) fn limit(&mut self, key: &str, value: &Node) -> Result<(), Expected> {
        let limits = &mut self.role.limits;
        match key {
            "timeout" => {
                let within = Duration::from_secs(1)..=DAY;
                let time = value.duration().filter(|time| within.contains(time));
                limits.timeout = Some(time.ok_or(Expected("a time from `1s` to `1d`"))?);
            }
            "budget_usd" => {
                let sum = value.decimal().filter(|sum| *sum > 0.0);
                limits.budget_usd =
                    Some(sum.ok_or(Expected("US dollars above 0, such as `0.50`"))?);
            }
            "max_tokens" => {
                let tokens = value.count().filter(|tokens| *tokens > 0);
                limits.max_tokens = Some(tokens.ok_or(Expected("a number of tokens above 0"))?);
            }
            _ => {
                let steps = value.count().filter(|steps| (1..=1000).contains(steps));
                let steps = steps.and_then(|steps| u32::try_from(steps).ok());
                limits.max_steps = Some(steps.ok_or(Expected("a number from 1 to 1000"))?);
            }
        }
        Ok(())
    }

    pub(super) fn advisors(&mut self, value: &Node) -> Result<(), Expected> {
        let names = names(value)?;
        if names.len() > MOST_ADVISORS {
            return Err(Expected("at most 5 names"));
        }
        self.role.advisors = names;
        Ok(())
    }

    pub(super) fn router(&mut self, value: &Node) -> Result<(), Expected> {
        const SHAPE: Expected = Expected("`{destinations: [names], required: true or false}`");
        let mut router = Router {
            destinations: Vec::new(),
            required: false,
        };
        for (key, value) in value.entries().map_err(|_| SHAPE)? {
            match key.text() {
                Ok("destinations") => router.destinations = names(value)?,
                Ok("required") => router.required = value.switch()?,
                _ => return Err(SHAPE),
            }
        }
        if router.destinations.is_empty() {
            return Err(SHAPE);
        }
        self.role.router = Some(router);
        Ok(())
    }

    pub(super) fn handoff(&mut self, value: &Node) -> Result<(), Expected> {
        let chain = match &value.value {
            Yaml::List(items) => items.iter().map(one_handoff).collect::<Result<_, _>>()?,
            Yaml::Scalar { .. } | Yaml::Map(_) => vec![one_handoff(value)?],
        };
        if chain.len() > MOST_HANDOFFS {
            return Err(Expected("at most 3 roles"));
        }
        self.role.handoff = chain;
        Ok(())
    }

    pub(super) fn seed(&mut self, value: &Node) -> Result<(), Expected> {
        let parts = value.words()?.into_iter().map(|(_, word)| match word {
            "history" => Ok(SeedPart::History),
            "decisions" => Ok(SeedPart::Decisions),
            _ => Err(Expected("`history`, `decisions`, both or `[]`")),
        });
        self.role.seed = Some(parts.collect::<Result<_, _>>()?);
        Ok(())
    }

    pub(super) fn compaction(&mut self, value: &Node) -> Result<(), Expected> {
        const SHAPE: Expected =
            Expected("`{begin, wait}`, each from 0.30 to 0.95, begin below wait");
        let mut found = Compaction {
            begin: 0.80,
            wait: 0.95,
        };
        for (key, value) in value.entries().map_err(|_| SHAPE)? {
            let share = value
                .decimal()
                .filter(|share| (0.30..=0.95).contains(share));
            match key.text() {
                Ok("begin") => found.begin = share.ok_or(SHAPE)?,
                Ok("wait") => found.wait = share.ok_or(SHAPE)?,
                _ => return Err(SHAPE),
            }
        }
        if found.begin >= found.wait {
            return Err(SHAPE);
        }
        self.role.compaction = Some(found);
        Ok(())
    }

    pub(super) fn tool_errors(&mut self, value: &Node) -> Result<(), Expected> {
        for (key, words) in value.entries()? {
            let tool = key.text()?;
            if self.known.tools.contains(&tool) {
                let words = words.text()?.to_owned();
                self.role.tool_errors.insert(tool.to_owned(), words);
            } else {
                self.unknown_tool("tool_errors", key.line, tool);
            }
        }
        Ok(())
    }
}

/// Returns other spellings of a model's name, for names with abilities or as people read them: `opus[1m]`, `Claude
/// Sonnet 4.5 (copilot)`.
fn spellings(name: &str) -> Vec<String> {
    let bare = name.split(['[', '(']).next().unwrap_or_default().trim();
    let folded = bare.to_lowercase().replace(' ', "-");
    let dashed = folded.replace('.', "-");
    vec![bare.to_owned(), folded, dashed]
}

pub(super) fn mode(value: &Node) -> Result<RoleMode, Expected> {
    match value.text()? {
        "direct" => Ok(RoleMode::Direct),
        "lightweight" => Ok(RoleMode::Lightweight),
        "standard" => Ok(RoleMode::Standard),
        "full" => Ok(RoleMode::Full),
        _ => Err(Expected("`direct`, `lightweight`, `standard` or `full`")),
    }
}

/// Reads names in a list, or separated by commas or blanks.
pub(super) fn names(value: &Node) -> Result<Vec<String>, Expected> {
    let words = value.words()?;
    let is_list = matches!(value.value, Yaml::List(_));
    let names = words.into_iter().flat_map(|(_, word)| {
        if is_list {
            vec![word.to_owned()]
        } else {
            word.split_whitespace().map(str::to_owned).collect()
        }
    });
    Ok(names.collect())
}

fn one_handoff(value: &Node) -> Result<Handoff, Expected> {
    const SHAPE: Expected = Expected("a role's name, or `{role, on_failure: show or withhold}`");
    if let Ok(role) = value.text() {
        return Ok(Handoff {
            role: role.to_owned(),
            on_failure: OnFailure::Show,
        });
    }
    let (mut role, mut on_failure) = (None, OnFailure::Show);
    for (key, value) in value.entries().map_err(|_| SHAPE)? {
        match (key.text(), value.text()) {
            (Ok("role"), Ok(name)) => role = Some(name.to_owned()),
            (Ok("on_failure"), Ok("show")) => on_failure = OnFailure::Show,
            (Ok("on_failure"), Ok("withhold")) => on_failure = OnFailure::Withhold,
            _ => return Err(SHAPE),
        }
    }
    let role = role.ok_or(SHAPE)?;
    Ok(Handoff { role, on_failure })
}
