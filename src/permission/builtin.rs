//! The four profiles that every server has.

use super::group::Group;
use super::profile::{Profile, ProfileError};

/// Their names, from the widest to the narrowest.
pub(super) const NAMES: [&str; 4] = ["open", "guarded", "standard", "locked"];

/// What `guarded` denies besides pushes and merge requests by the git tool.
///
/// A command is matched as written and in its plain form: wrappers, paths, quotes and global options gone,
/// `gh api` with its method first. Only what is known to read passes; what a later version adds does not.
const GUARDED_COMMANDS: [&str; 4] = [
    // Pushing, by any of git's doors, and merge requests of other clients.
    r"tool:(bash|run_concurrent|run_background):git (push|send-pack|http-push|receive-pack|subtree push|lfs push|svn dcommit|p4 submit|send-email|remote-https?)(\s.*)?",
    // GitHub: everything but the commands known to read.
    r"tool:(bash|run_concurrent|run_background):gh (?!((pr|issue|release|repo|run|workflow|gist|label|project|cache|ruleset|org|ssh-key|gpg-key|secret|variable|codespace|extension|config|alias|attestation) (list|ls|view|status|diff|checks|watch|verify|get|search|check|field-list|item-list)|search|browse|status|version|help|completion|auth status|api --method (GET|HEAD))(\s|$)|--(version|help)(\s|$)).*",
    // GitLab's client, and the older one for GitHub.
    r"tool:(bash|run_concurrent|run_background):(glab|hub) (?!((mr|issue|ci|release|repo|label|snippet|pipeline|variable|job) (list|ls|view|status|diff|get|trace|search)|version|help|status|auth status|api --method (GET|HEAD))(\s|$)|--(version|help)(\s|$)).*",
    // DigitalOcean: nouns, then a verb that reads.
    r"tool:(bash|run_concurrent|run_background):doctl (?!(version|help|completion|--help|--version)(\s|$)|((1-click|account|action|actions|app|apps|auth|backups|balance|billing-history|cdn|certificate|cluster|compute|configuration|databases|database|db|dbaas|domain|domains|droplet|droplet-action|droplet-autoscale|events|firewall|firewalls|floating-ip|functions|genai|image|image-action|images|ingress|invoice|k8s|kubernetes|load-balancer|monitoring|network|node-pool|nodes|options|pool|project|projects|ratelimit|record|records|region|registries|registry|replica|repository|reserved-ip|resources|serverless|size|snapshot|snapshots|spaces|ssh-key|tag|tier|user|uptime|version|versions|volume|volume-action|volumes|vpcs) ){1,3}(get|g|list|ls|list-v2|show|list-tags|list-manifests|logs|spec get|list-alerts|list-deployments|get-deployment|list-regions|list-builds|neighbors|kernels|backups|snapshots|actions|subscription)(\s|$)).*",
];

impl Profile {
    /// The built-in profile called `name`.
    ///
    /// # Errors
    ///
    /// When there is none of that name.
    pub fn builtin(name: &str) -> Result<Self, ProfileError> {
        match name {
            "open" => Self::compile(&[".*"], &[], &[]),
            "standard" => Self::compile(
                &[
                    Group::Files.pattern(),
                    Group::GitLocal.pattern(),
                    Group::Docs.pattern(),
                    Group::Information.pattern(),
                    Group::AgentComm.pattern(),
                    Group::StopTask.pattern(),
                    Group::WebSearch.pattern(),
                ],
                &[
                    Group::Shell.pattern(),
                    Group::Tasks.pattern(),
                    Group::WebFetch.pattern(),
                    Group::GitRemote.pattern(),
                    Group::SelfEdit.pattern(),
                    Group::Delegates.pattern(),
                ],
                &[],
            ),
            "guarded" => {
                let mut deny = vec![Group::GitRemote.pattern()];
                deny.extend(GUARDED_COMMANDS);
                Self::compile(&[".*"], &[], &deny)
            }
            "locked" => Self::compile(
                &["tool:(view|glob|grep):.*", Group::Information.pattern()],
                &[],
                &[],
            ),
            name => Err(ProfileError::UnknownName {
                name: name.to_owned(),
                hint: format!("built-in are {}", NAMES.join(", ")),
            }),
        }
    }
}
