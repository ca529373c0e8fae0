//! MCP servers with a missing program.

use super::check::Check;
use crate::config::{Config, Env};
use crate::mcp::{self, Launch, Seen, Server};

/// Checks the program of each enabled server of `config.json`; without servers there is nothing to check.
pub(super) fn checks(env: &Env, config: &Config) -> Option<Check> {
    let servers = mcp::of_config(config);
    let is_on = |server: &&Server| matches!(&server.entry, Ok(entry) if !entry.disabled);
    let on: Vec<&Server> = servers.iter().filter(is_on).collect();
    if on.is_empty() {
        return None;
    }
    let failed: Vec<String> = on
        .iter()
        .filter_map(|server| fault(server, env, config))
        .collect();
    Some(if failed.is_empty() {
        let names: Vec<&str> = on.iter().map(|server| server.name.as_str()).collect();
        Check::ok("mcp", format!("programs found: {}", names.join(", ")))
    } else {
        let remedy = "install the program or set the variable; then: chorus mcp test <server>";
        Check::warning("mcp", failed.join("; "), remedy)
    })
}

/// Returns why the server would not start, as far as that can be known without starting it.
fn fault(server: &Server, env: &Env, config: &Config) -> Option<String> {
    let entry = server.entry.as_ref().ok()?;
    let seen = Seen {
        home: env.paths.home.clone(),
        workspace: None,
        chorus: env.paths.home.clone(),
    };
    let launch = Launch::of(entry, seen, config, |name| server.variable(env, name));
    let checked = launch.and_then(|launch| launch.check_program());
    checked.err().map(|why| format!("{}: {why}", server.name))
}
