//! The lists of tools.

use std::collections::BTreeSet;

use super::compile::Compiler;
use super::narrow;
use super::tool_names::{Meant, SHELL, meant};
use super::values::Expected;
use super::yaml::Node;
use crate::domain::ProfileRef;
use crate::text;

impl Compiler<'_> {
    pub(super) fn tools(&mut self, value: &Node) -> Result<(), Expected> {
        if let Ok(entries) = value.entries() {
            return self.tools_by_switch(entries);
        }
        let words = self.tool_words(value)?;
        let mut unknown = Vec::new();
        let mut only = BTreeSet::new();
        let mut all = false;
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
                        self.may_call(names.into_iter().map(str::to_owned).collect());
                    }
                }
                Meant::Nothing => {}
                Meant::Server => {
                    self.role.servers.insert(word.to_owned());
                    self.note(line, of_server(word));
                }
                Meant::Foreign => {
                    unknown.push(shown(word));
                    self.note(line, foreign(word));
                }
                Meant::Unknown => {
                    unknown.push(shown(word));
                    self.unknown_tool("tools", line, word);
                }
            }
        }
        if !all {
            if only.is_empty() && self.role.servers.is_empty() && !unknown.is_empty() {
                self.problem(
                    value.line,
                    "tools",
                    format!(
                        "nothing of this list is left: Chorus has no {}",
                        unknown.join(", ")
                    ),
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
        for (line, word) in self.tool_words(value)? {
            self.never(line, "disallowedTools", word);
        }
        Ok(())
    }

    /// Removes a tool, whatever its name is elsewhere.
    fn never(&mut self, line: usize, key: &str, word: &str) {
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
            Meant::Server => {
                self.role.disallowed_servers.insert(word.to_owned());
            }
            Meant::Foreign => self.note(line, foreign(word)),
            // In Claude Code this entry also removes the whole shell.
            Meant::Bash(_) => {
                never.extend(shell());
                let shown = shown(word);
                self.note(
                    line,
                    format!("{shown} takes `bash` away, whatever the command"),
                );
            }
            // A denied tool that is not known: its removal cannot be guaranteed.
            Meant::Unknown => self.problem(
                line,
                key,
                format!("there is no tool {}", text::code_span(word)),
                self.tool_instead(word),
            ),
        }
    }

    /// Returns the entries of a list of tools. If blanks separate them, as in a skill, each word is one.
    fn tool_words<'n>(&self, value: &'n Node) -> Result<Vec<(usize, &'n str)>, Expected> {
        let known = self.known.tools;
        let words = value.words()?.into_iter().flat_map(|(line, word)| {
            let is_one = meant(word, known) != Meant::Unknown;
            let parts = if is_one {
                vec![word]
            } else {
                split_blanks(word)
            };
            parts.into_iter().map(move |part| (line, part))
        });
        Ok(words.collect())
    }

    /// Reads OpenCode's form, in which each tool has a switch: those that are off are removed, and after `*: false`
    /// only those that are on remain.
    fn tools_by_switch(&mut self, entries: &[(Node, Node)]) -> Result<(), Expected> {
        let mut only = BTreeSet::new();
        let mut is_closed = false;
        for (key, value) in entries {
            let (word, is_on) = (key.text()?, value.switch()?);
            match (meant(word, self.known.tools), is_on) {
                (Meant::All, false) => is_closed = true,
                (Meant::These(names), true) => {
                    only.extend(names.iter().copied().map(str::to_owned))
                }
                (Meant::Ours(name), true) => {
                    only.insert(name.to_owned());
                }
                (Meant::Agents(_), true) => {
                    only.insert("sub_agent".to_owned());
                }
                (Meant::Server, true) => {
                    self.role.servers.insert(word.to_owned());
                    self.note(key.line, of_server(word));
                }
                (Meant::Foreign | Meant::Unknown, true) => self.note(key.line, foreign(word)),
                (_, true) => {}
                (_, false) => self.never(key.line, "tools", word),
            }
        }
        if is_closed {
            self.role.tools = Some(match self.role.tools.take() {
                Some(before) => &before & &only,
                None => only,
            });
        }
        Ok(())
    }

    /// Reads `readonly: true`, as in Cursor.
    pub(super) fn read_only(&mut self, line: usize, value: &Node) {
        match value.switch() {
            Ok(true) => {
                self.note(
                    line,
                    "`readonly` is read as `permissions: locked`".to_owned(),
                );
                let locked = ProfileRef::Named("locked".to_owned());
                self.role.permissions.push(locked);
            }
            Ok(false) => self.note(
                line,
                "`readonly: false` means nothing here: a file grants nothing".to_owned(),
            ),
            Err(expected) => self.problem(
                line,
                "readonly",
                "it is neither on nor off".to_owned(),
                format!("write {expected}"),
            ),
        }
    }

    /// Reads `disable: true`, as in OpenCode.
    pub(super) fn turned_off(&mut self, line: usize, value: &Node) {
        if !value.switch().is_ok_and(|is_off| !is_off) {
            let message = "the file turns its agent off".to_owned();
            self.problem(line, "disable", message, "leave it out to use the role");
        }
    }

    /// Reads OpenCode's `permission`: denied tools are removed. A question about only some commands has no equivalent
    /// here.
    pub(super) fn permission(&mut self, line: usize, value: &Node) {
        const INSTEAD: &str = "write `allow` or `deny` for each kind of tool, or use `permissions`";
        let Ok(entries) = value.entries() else {
            let message = "this speaks of rights, and is no map of tools".to_owned();
            return self.problem(line, "permission", message, "did you mean `permissions`?");
        };
        for (key, value) in entries {
            let word = key.text().unwrap_or_default();
            match value.text() {
                Ok("deny") => self.never(key.line, "permission", word),
                Ok("allow") => self.note(
                    key.line,
                    format!("{} means nothing here: a file grants nothing", shown(word)),
                ),
                _ => {
                    let message = format!("Chorus cannot hold what it says of {}", shown(word));
                    self.problem(key.line, "permission", message, INSTEAD);
                }
            }
        }
    }

    /// Adds the roles that it may call: if several entries name roles, all of them.
    pub(super) fn may_call(&mut self, names: Vec<String>) {
        self.role.sub_agents.get_or_insert_default().extend(names);
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

/// Returns the tools that run commands. Without a shell there are no commands in the background either.
fn shell() -> impl Iterator<Item = String> {
    let all = SHELL.iter().chain(&["run_background"]);
    all.map(|name| (*name).to_owned())
}

fn of_server(word: &str) -> String {
    format!(
        "{} is a tool of an MCP server; it counts where the agent has that server",
        shown(word)
    )
}

fn foreign(word: &str) -> String {
    format!("{} is not a tool here; left out", shown(word))
}

fn shown(word: &str) -> String {
    text::code_span(&text::one_line(&text::visible(word).0, 60))
}

/// Splits a text into words; blanks in brackets do not separate.
fn split_blanks(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let words = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c.is_whitespace() && depth == 0
    });
    words.filter(|word| !word.is_empty()).collect()
}
