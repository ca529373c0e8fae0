//! The parts of `src/discord` form layers too. The three that serve people do not know each other.

use super::parts::Parts;

const DISCORD: Parts = Parts {
    module: "discord",
    layers: &[
        &["error"],
        &["rest"],
        &["render", "people", "gateway"],
        &["bot"],
        &["inbound", "interactions", "outbound"],
        &["hub"],
        &["run"],
    ],
};

#[test]
fn no_part_of_discord_names_one_above_or_beside_it() {
    DISCORD.check();
}
