extension ServiceUnit {
    /// `changebot run`.
    static func daemon(_ settings: Settings) -> ServiceUnit {
        let limit = [
            "# After five minutes of failed restarts, systemd gives up. To start again:",
            "#   systemctl \(settings.isForUser ? "--user " : "")reset-failed",
            "StartLimitIntervalSec=10min",
            "StartLimitBurst=30",
        ]
        let service = [
            "[Service]",
            "Type=notify",
            "NotifyAccess=main",
            "ExecStart=\(settings.program) run --config \(settings.config.unitWord)",
            "ExecReload=/bin/kill -HUP $MAINPID",
            "Restart=on-failure",
            "RestartSec=10s",
            "# Errors that a restart can't fix: wrong usage (64), invalid rules (65), a state folder that can't be written",
            "# to (73), a refused password (77), a wrong configuration or the state of a newer version (78).",
            "RestartPreventExitStatus=64 65 73 77 78",
            "# A process that hangs is killed and restarted.",
            "WatchdogSec=3min",
            "TimeoutStartSec=3min",
            "# More than --shutdown-grace (30 s). If you raise that option, the program asks systemd for more time.",
            "TimeoutStopSec=45s",
            killMode, outOfMemoryPolicy,
        ]
        return ServiceUnit(
            "changebot", "service", ["follows a changes feed, and applies rules."], start: "changebot", settings,
            [
                section("rules on the changes feed of %i", settings, limit),
                service + identity(settings, state: "changebot") + confinement(settings),
                install(settings.isForUser ? "default.target" : "multi-user.target"),
            ])
    }

    /// `changebot fix`.
    static func fix(_ settings: Settings) -> ServiceUnit {
        let service = [
            "[Service]",
            "Type=oneshot",
            "ExecStart=\(settings.program) fix --config \(settings.config.unitWord)",
            killMode, outOfMemoryPolicy,
        ]
        return ServiceUnit(
            "changebot-fix", "service",
            [
                "applies rules to every document, once.",
                "To preview what it would do: changebot fix --dry-run --config FILE",
            ],
            start: "changebot-fix", settings,
            [
                section("rules on all documents of %i", settings),
                service + identity(settings, state: "changebot") + confinement(settings),
            ])
    }

    /// `changebot export`, to a file for each day, then `changebot verify`.
    static func backup(_ settings: Settings) -> ServiceUnit {
        let service = [
            "[Service]",
            "Type=oneshot",
            "# Older backups are removed once today's has been verified.",
            "Environment=BACKUP_DAYS=30",
            "Environment=BACKUP_FOLDER=\(settings.isForUser ? "%h/.local/share" : "%S")/changebot-backup",
            "ExecStart=/bin/sh -euc '\(script)' backup %i \(settings.program) \(settings.config.unitWord)",
            killMode,
        ]
        return ServiceUnit(
            "changebot-backup", "service",
            [
                "exports all documents with revisions and attachments, and verifies the file.",
                "Restore a backup into an empty database: changebot import --mode restore --gateway URL BACKUP",
                "Undo changes and deletions in a live one: changebot import --mode upsert --gateway URL BACKUP",
            ],
            start: "changebot-backup", settings,
            [
                section("backup of %i", settings),
                service + identity(settings, state: "changebot-backup") + confinement(settings),
            ])
    }

    /// A shell script; its arguments are the instance, the program and the configuration file. systemd replaces `$$`
    /// and `%%`.
    private static let script = [
        #"mkdir -p -m 0700 "$$BACKUP_FOLDER""#,
        #"file="$$BACKUP_FOLDER/$$1-$$(date +%%F).ndjson.gz""#,
        #""$$2" export --config "$$3" --output "$$file" --revisions --attachments inline"#,
        #""$$2" verify "$$file""#,
        #"find "$$BACKUP_FOLDER" -maxdepth 1 -type f -name "$$1-????-??-??.ndjson.gz*" -mtime "+$$BACKUP_DAYS" -delete"#,
    ].joined(separator: "; ")

    private static let killMode = """
        # The helper processes that run jq programs must not end before the work under way is finished.
        KillMode=mixed
        """

    private static let outOfMemoryPolicy = """
        # A jq program that uses up all memory fails one document, not the whole service.
        OOMPolicy=continue
        # MemoryMax=512M
        """
}
