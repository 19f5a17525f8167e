extension ServiceUnit {
    /// Who the process is, what it may write, and where its secrets come from.
    ///
    /// A fixed user, and not `DynamicUser=`: bots, `fix` and the commands of an operator (`sudo -u changebot changebot
    /// dead-letters list --state /var/lib/changebot`) work on the same files.
    ///
    /// - Parameter state: The folder below `/var/lib`. For a user, the program's own default applies: the service manager
    ///   of systemd 252 would choose one below `~/.config`.
    static func identity(_ settings: Settings, state: String) -> [String] {
        let variables = [
            "# Variables such as CHANGEBOT_LOG_LEVEL=debug. The file may be missing.",
            "EnvironmentFile=-\(settings.path(".env"))",
        ]
        guard !settings.isForUser else { return variables }
        return [
            "User=changebot",
            "Group=changebot",
            "StateDirectory=\(state)",
            "StateDirectoryMode=0700",
        ] + variables + [
            "# The password or token, for 'password_credential: password' in the configuration. root can read the file, no other",
            "# else needs to. Without the file it is empty.",
            "LoadCredential=password:\(settings.path(".password"))",
            "SetCredential=password:\\n",
        ]
    }

    /// The folders of the bot's files stay visible, if they are in home folders, and those that it writes stay writable.
    private static func homes(_ folders: ServiceFolders) -> [String] {
        let writable = folders.written.map { "ReadWritePaths=-\($0.unitWord)" }
        guard folders.areInHomes else { return ["ProtectHome=yes"] + writable }
        return [
            "# Of home folders, only those of the bot's files are visible. The user changebot must be able to read them.",
            "ProtectHome=tmpfs",
        ] + folders.read.map { "BindReadOnlyPaths=\($0.unitWord)" }
            + folders.writtenInHomes.map { "BindPaths=\($0.unitWord)" } + writable
    }

    /// What the process can't do.
    ///
    /// - Note: Source: systemd.exec(5), "Sandboxing".
    static func confinement(_ settings: Settings) -> [String] {
        // These work without privileges: all but UMask= are limits on system calls.
        let common = [
            "UMask=0077",
            "NoNewPrivileges=yes",
            "LockPersonality=yes",
            "# Regular expressions are then interpreted, not compiled: slower, with the same results.",
            "MemoryDenyWriteExecute=yes",
            "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
            "RestrictNamespaces=yes",
            "RestrictRealtime=yes",
            "RestrictSUIDSGID=yes",
            "SystemCallArchitectures=native",
            "SystemCallErrorNumber=EPERM",
            "SystemCallFilter=@system-service",
            "SystemCallFilter=~@privileged @resources @keyring @memlock @setuid @aio",
        ]
        guard !settings.isForUser else {
            return [
                "",
                "# What it can't do. A user's service manager can't hide files and devices, as that of the system can.",
            ]
                + common
        }
        let ofSystem =
            [
                "",
                "# What it can't do. Home folders are hidden, and everything outside StateDirectory= is read-only.",
                "CapabilityBoundingSet=",
                "AmbientCapabilities=",
                "DevicePolicy=closed",
                "PrivateDevices=yes",
                "PrivateMounts=yes",
                "PrivateTmp=yes",
                "PrivateUsers=yes",
                "ProcSubset=pid",
                "ProtectClock=yes",
                "ProtectControlGroups=yes",
            ] + homes(settings.folders) + [
                "ProtectHostname=yes",
                "ProtectKernelLogs=yes",
                "ProtectKernelModules=yes",
                "ProtectKernelTunables=yes",
                "ProtectProc=invisible",
                "ProtectSystem=strict",
                "RemoveIPC=yes",
            ]
        let advice = [
            "# If the gateway is on this machine, nothing else need be reached:",
            "# IPAddressDeny=any",
            "# IPAddressAllow=localhost",
        ]
        return ofSystem + common + advice
    }
}
