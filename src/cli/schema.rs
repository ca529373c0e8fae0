//! `chorus schema`: the JSON Schema of `config.json`.

use anyhow::Context;

use super::failure::Failure;
use super::output::print_line;
use crate::config;

/// Print the JSON Schema of config.json, for editors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  chorus schema > config.schema.json")]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(self) -> Result<(), Failure> {
        let schema =
            serde_json::to_string_pretty(&config::schema()).context("writing the schema")?;
        print_line!("{schema}");
        Ok(())
    }
}
