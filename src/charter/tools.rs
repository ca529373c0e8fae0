//! The lists of tools.

use std::collections::BTreeSet;

use super::compile::Compiler;
use super::narrow;
use super::tool_names::{Meant, SHELL, meant};
use super::values::Expected;
use super::yaml::Node;
use crate::text;

impl Compiler<'_> {
    pub(super) fn tools(&mut self, value: &Node) -> Result<(), Expected> {
        let words = value.words()?;
        let mut only = BTreeSet::new();
        let mut all = false;
        let is_asked = !words.is_empty();
        for (line, word) in words {
            match meant(word, self.known.tools) {
                Meant::All => all = true,
                Meant::These(names) => only.extend(names.iter().copied().map(str::to_owned)),
                Meant::Ours(name) => {
                    only.insert(name.to_owned());
                }
                Meant::Bash(command) => {
                    only.insert("bash".to_owned());
                    self.commands.insert(command.to_owned());
                    self.commands_line = line;
                }
                Meant::Agents(names) => {
                    only.insert("sub_agent".to_owned());
                    if !names.is_empty() {
                        let names = names.into_iter().map(str::to_owned).collect();
                        self.role.sub_agents = Some(names);
                    }
                }
                Meant::Nothing => {}
                Meant::Foreign => self.note(line, foreign(word)),
                Meant::Unknown => self.unknown_tool("tools", line, word),
            }
        }
        if !all {
            if only.is_empty() && is_asked {
                self.problem(
                    value.line,
                    "tools",
                    "nothing of this list is left".to_owned(),
                    "name a tool of Chorus, or write `[]` for none",
                );
            }
            self.role.tools = Some(match self.role.tools.take() {
                Some(before) => &before & &only,
                None => only,
            });
        }
        Ok(())
    }

    pub(super) fn disallowed(&mut self, value: &Node) -> Result<(), Expected> {
        for (line, word) in value.words()? {
            let never = &mut self.role.disallowed_tools;
            match meant(word, self.known.tools) {
                Meant::All => never.extend(self.known.tools.iter().copied().map(str::to_owned)),
                Meant::These(names) => {
                    never.extend(names.iter().copied().map(str::to_owned));
                    if names.contains(&"bash") {
                        never.extend(shell());
                    }
                }
                Meant::Ours(name) => {
                    never.insert(name.to_owned());
                }
                Meant::Agents(_) => {
                    never.insert("sub_agent".to_owned());
                }
                Meant::Nothing => {}
                Meant::Foreign => self.note(line, foreign(word)),
                // For Claude Code this entry removes the whole shell too.
                Meant::Bash(_) => {
                    never.extend(shell());
                    let shown = text::code_span(&text::one_line(&text::visible(word).0, 60));
                    self.note(
                        line,
                        format!("{shown} takes `bash` away, whatever the command"),
                    );
                }
                // A tool to be left out that is not known: nobody can promise that it is.
                Meant::Unknown => self.problem(
                    line,
                    "disallowedTools",
                    format!("there is no tool {}", text::code_span(word)),
                    self.tool_instead(word),
                ),
            }
        }
        Ok(())
    }

    pub(super) fn unknown_tool(&mut self, key: &str, line: usize, word: &str) {
        let instead = self.tool_instead(word);
        self.doubt(
            line,
            key,
            format!("there is no tool {}", text::code_span(word)),
            instead,
        );
    }

    pub(super) fn tool_instead(&self, word: &str) -> String {
        text::near(word, self.known.tools.iter().copied()).map_or_else(
            || "see docs/tools.md for their names".to_owned(),
            |near| format!("did you mean `{near}`?"),
        )
    }

    pub(super) fn narrow_commands(&mut self) {
        if self.commands.is_empty() {
            return;
        }
        let commands: BTreeSet<&str> = self.commands.iter().map(String::as_str).collect();
        let narrowed = narrow::to_commands(&commands, self.known.tools);
        match self.known.profiles.resolve(&narrowed) {
            Ok(_) => self.role.permissions.push(narrowed),
            Err(error) => {
                let line = self.commands_line;
                self.problem(line, "tools", error.to_string(), "name fewer commands");
            }
        }
    }
}

/// The tools that run commands: without a shell there are none in the background either.
fn shell() -> impl Iterator<Item = String> {
    let all = SHELL.iter().chain(&["run_background"]);
    all.map(|name| (*name).to_owned())
}

fn foreign(word: &str) -> String {
    let word = text::one_line(&text::visible(word).0, 60);
    format!("{} is not a tool here; left out", text::code_span(&word))
}
