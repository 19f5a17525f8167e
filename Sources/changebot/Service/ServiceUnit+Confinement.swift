extension ServiceUnit {
    /// The lines for the user, the state folder and the secrets of the process.
    ///
    /// The user is fixed instead of a `DynamicUser=`, because bots, `fix` and the commands of an operator (`sudo -u
    /// changebot changebot dead-letters list --state /var/lib/changebot`) work on the same files.
    ///
    /// - Parameter state: The folder below `/var/lib`. User units use the program's default instead: systemd 252 would
    ///   choose a folder below `~/.config`.
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
            "# The password or token, for 'password_credential: password' in the configuration. Only root needs to read",
            "# the file. Without the file, the password is empty.",
            "LoadCredential=password:\(settings.path(".password"))",
            "SetCredential=password:\\n",
        ]
    }

    /// The lines that keep the folders of the bot's files visible in home folders, and writable where it writes.
    private static func homes(_ folders: ServiceFolders) -> [String] {
        let writable = folders.written.map { "ReadWritePaths=-\($0.unitWord)" }
        guard folders.areInHomes else { return ["ProtectHome=yes"] + writable }
        return [
            "# In home folders, only the folders of the bot's files are visible. The user changebot must be able to read",
            "# them.",
            "ProtectHome=tmpfs",
        ] + folders.read.map { "BindReadOnlyPaths=\($0.unitWord)" }
            + folders.writtenHomeFolders.map { "BindPaths=\($0.unitWord)" } + writable
    }

    /// The lines that restrict the process.
    ///
    /// - Note: Source: systemd.exec(5), "Sandboxing".
    static func confinement(_ settings: Settings) -> [String] {
        // These work without privileges: all except UMask= only restrict system calls.
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
                "# Restrictions. Unlike the system's service manager, a user's can't hide files and devices.",
            ]
                + common
        }
        let systemPaths =
            [
                "",
                "# Restrictions. Home folders are hidden, and everything outside StateDirectory= is read-only.",
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
            "# If the gateway is on this machine, block all other addresses:",
            "# IPAddressDeny=any",
            "# IPAddressAllow=localhost",
        ]
        return systemPaths + common + advice
    }
}
