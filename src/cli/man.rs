//! `chorus man`: the manual, generated from the command line, with the additional sections of a manual.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::failure::Failure;

/// Print the man page, or write one for each command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus man | man -l -
  chorus man --directory ~/.local/share/man/man1")]
pub(super) struct Man {
    /// Write chorus.1, chorus-run.1 and so on into this directory
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Man {
    /// Writes the pages of the whole command line.
    pub(super) fn run(self, command: clap::Command) -> Result<(), Failure> {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let written = match &self.directory {
            None => write_page(&command, &mut io::stdout()),
            Some(directory) => {
                fs::create_dir_all(directory).and_then(|()| write_pages(&command, directory))
            }
        };
        written.context("writing the man page")?;
        Ok(())
    }
}

/// The parts of the machine that a command uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Uses {
    /// Only its arguments.
    Arguments,
    /// A home.
    Home,
    /// Also Discord and models.
    Everything,
}

impl Uses {
    fn of(command: &str) -> Self {
        let mut words = command.split('-').skip(1);
        match (words.next(), words.next()) {
            (None | Some("run" | "playground" | "doctor" | "init"), _) => Self::Everything,
            (Some("charter"), Some("check")) => Self::Arguments,
            (Some("schema" | "completions" | "man" | "permissions"), _) => Self::Arguments,
            (Some(_), _) => Self::Home,
        }
    }
}

const EXIT_STATUS: [(&str, &str); 4] = [
    ("0", "Done."),
    ("1", "The command failed; the reason is on standard error."),
    ("2", "The arguments are not valid."),
    (
        "78",
        "The operator has to change something first: the configuration, the environment or the machine. systemd does not restart the service.",
    ),
];

/// Variables of a command that talks to Discord and to models.
const VARIABLES: [(&str, &str); 11] = [
    ("DISCORD_TOKEN", "The bot's token."),
    (
        "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY",
        "API keys of the providers.",
    ),
    (
        "ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GEMINI_BASE_URL",
        "Addresses of other servers with the same API.",
    ),
    (
        "WEBHOOK_KEY",
        "The key of webhooks' secrets, 64 hexadecimal digits.",
    ),
    (
        "SERVERS",
        "Ids of Discord servers, separated by commas; added to servers of config.json.",
    ),
    (
        "DEV_GUILD_ID",
        "Register commands in this server only, for development.",
    ),
    ("CHORUS_TEMPLATE_DIR", "The template for new agents."),
    ("CHORUS_ALLOW_ROOT", "1: chorus run may run as root."),
    (
        "CHORUS_DISCORD_API_URL",
        "An address to use instead of Discord's, such as that of a proxy.",
    ),
    (
        "CHORUS_LOG",
        "The filter of the log, such as info,chorus::llm=debug.",
    ),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "The collector that receives spans, if the program was built with the feature otlp.",
    ),
];

const HOME: (&str, &str) = (
    "CHORUS_HOME",
    "The home [default: ~/.chorus-agents; for the machine's service: /var/lib/chorus].",
);

const COLOURS: [(&str, &str); 2] = [
    ("NO_COLOR", "With any value: no colours."),
    (
        "CLICOLOR, CLICOLOR_FORCE",
        "CLICOLOR=0: no colours; CLICOLOR_FORCE=1: colours even where standard output is not a terminal.",
    ),
];

const SECRETS: &str = "Chorus looks for a variable in the environment, then in the file of --env-file and in .env in the home. It looks for a secret also in systemd's credentials (after the environment), and in each place in the file that the variable with _FILE after its name names. Nothing is read from \
    the working directory.";

const FILES: [(&str, &str); 7] = [
    (
        "$CHORUS_HOME/config.json",
        "The configuration; chorus schema describes it.",
    ),
    ("$CHORUS_HOME/.env", "Secrets; readable only by its owner."),
    (
        "$CHORUS_HOME/db/chorus.db",
        "Messages, conversations, decisions and costs.",
    ),
    (
        "$CHORUS_HOME/agents/",
        "One folder for each agent: agent.json, docs, sessions, workspace.",
    ),
    (
        "$CHORUS_HOME/available_models.json",
        "The latest model lists of the providers.",
    ),
    (
        "/etc/chorus/credentials/, ~/.config/chorus/credentials/",
        "Secrets of the service: one file for each, with the name of its variable.",
    ),
    (
        "/etc/systemd/system/chorus.service, ~/.config/systemd/user/chorus.service",
        "The service file that chorus service install writes.",
    ),
];

/// Writes one page for `command` and one for each command below it.
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_pages(below, directory)?;
    }
    let mut file = File::create(directory.join(format!("{}.1", name(command))))?;
    write_page(command, &mut file)?;
    file.flush()
}

fn write_page(command: &clap::Command, out: &mut dyn Write) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone()).manual("Chorus Manual");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let mut roff = Roff::new();
    list(&mut roff, "EXIT STATUS", &EXIT_STATUS);
    environment(&mut roff, Uses::of(name(command)));
    if Uses::of(name(command)) != Uses::Arguments {
        list(&mut roff, "FILES", &FILES);
    }
    examples(&mut roff, command);
    see_also(&mut roff, command);
    roff.to_writer(out)?;
    if command.get_version().is_some() {
        man.render_version_section(out)?;
    }
    Ok(())
}

fn name(command: &clap::Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

fn environment(roff: &mut Roff, uses: Uses) {
    let mut variables = Vec::new();
    if uses != Uses::Arguments {
        variables.push(HOME);
    }
    if uses == Uses::Everything {
        variables.extend(VARIABLES);
    }
    variables.extend(COLOURS);
    list(roff, "ENVIRONMENT", &variables);
    if uses == Uses::Everything {
        roff.control("PP", []);
        roff.text([roman(SECRETS)]);
    }
}

/// Writes the examples of `--help`, which come after their heading and are indented by two.
fn examples(roff: &mut Roff, command: &clap::Command) {
    let Some(help) = command.get_after_help() else {
        return;
    };
    roff.control("SH", ["EXAMPLES"]);
    roff.control("EX", []);
    let help = help.to_string();
    for line in help.lines().skip(1) {
        roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    roff.control("EE", []);
}

fn see_also(roff: &mut Roff, command: &clap::Command) {
    let own = name(command);
    let mut pages: Vec<String> = Vec::new();
    if let Some((above, _)) = own.rsplit_once('-') {
        let known = ["chorus-check", "chorus-migrate"];
        let above = if known.contains(&above) {
            "chorus"
        } else {
            above
        };
        pages.push(above.to_owned());
    }
    let related: &[&str] = match own {
        "chorus" => &["chorus-init", "chorus-doctor", "chorus-run"],
        "chorus-run" | "chorus-init" => &["chorus-doctor", "chorus-service"],
        "chorus-doctor" => &["chorus-check-config", "chorus-init"],
        "chorus-check-config" => &["chorus-schema", "chorus-doctor"],
        "chorus-backup" => &["chorus-restore"],
        "chorus-restore" => &["chorus-backup"],
        "chorus-service" => &["chorus-run"],
        _ => &[],
    };
    pages.extend(related.iter().map(|page| (*page).to_owned()));
    let mut text: Vec<Inline> = Vec::new();
    for page in pages {
        if !text.is_empty() {
            text.push(roman(", "));
        }
        text.push(bold(page));
        text.push(roman("(1)"));
    }
    if own == "chorus-service" || own == "chorus-run" {
        text.push(roman(", "));
        text.push(bold("systemd.service"));
        text.push(roman("(5)"));
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text(text);
}

/// Writes a section of terms with their descriptions.
fn list(roff: &mut Roff, heading: &str, entries: &[(&str, &str)]) {
    roff.control("SH", [heading]);
    for (term, meaning) in entries {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
}
