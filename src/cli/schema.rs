//! `chorus schema`: the JSON Schemas of files that people and programs read and write.

use anyhow::Context;
use serde_json::json;

use super::failure::Failure;
use super::output::print_line;
use crate::{config, drawing};

/// Print the JSON Schema of config.json, for editors, of a run, or of a status.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus schema > config.schema.json
  chorus schema --run > run.schema.json
  chorus schema --status > status.schema.json")]
pub(super) struct Schema {
    /// The schema of what chorus runs show --format json prints
    #[arg(long)]
    run: bool,
    /// The schema of what chorus status --json prints
    #[arg(long, conflicts_with = "run")]
    status: bool,
}

impl Schema {
    pub(super) fn run(self) -> Result<(), Failure> {
        let schema = if self.run {
            drawing::run_schema()
        } else if self.status {
            drawing::overview_schema()
        } else {
            json!(config::schema())
        };
        let schema = serde_json::to_string_pretty(&schema).context("writing the schema")?;
        print_line!("{schema}");
        Ok(())
    }
}
