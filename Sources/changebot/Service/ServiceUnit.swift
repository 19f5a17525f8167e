/// A systemd unit, as `changebot service print` writes it.
///
/// Uses nothing newer than systemd 252 (Debian 12).
///
/// - Note: Source: systemd.unit(5), systemd.service(5), systemd.timer(5).
struct ServiceUnit {
    /// The purpose of a unit.
    enum Kind: String, CaseIterable {
        case run, fix, backup
    }

    struct Settings {
        /// The program's absolute path.
        let binary: String
        /// Whether the unit is for a user's service manager, which has no privileges.
        let isForUser: Bool
        /// The configuration file; may contain specifiers.
        let config: String
        /// The folders that system units must not hide. User units hide nothing.
        let folders: ServiceFolders

        /// - Parameter config: The configuration file. Nil: one per instance, in the usual folder.
        init(binary: String, isForUser: Bool, config: String? = nil) {
            self.binary = binary
            self.isForUser = isForUser
            self.config = config ?? Self.usualConfig(isForUser)
            folders = isForUser ? ServiceFolders() : .find(binary: binary, config: self.config)
        }

        /// The option that names another configuration file than the usual one, for a shell. Empty for the usual one.
        var option: String {
            let usual = Settings.usualConfig(isForUser)
            return config == usual ? "" : " --config '\(config.replacing("'", with: #"'\''"#))'"
        }

        private static func usualConfig(_ isForUser: Bool) -> String {
            (isForUser ? "%E" : "/etc") + "/changebot/%i.yaml"
        }

        /// The program as a word of a command line.
        var program: String {
            binary.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%").unitWord
        }

        /// The path of a file next to the configuration file: `/etc/changebot/%i.env`.
        func path(_ suffix: String) -> String {
            (config.hasSuffix(".yaml") ? String(config.dropLast(".yaml".count)) : config) + suffix
        }
    }

    /// `changebot@.service`: all units are templates.
    let name: String
    let text: String

    static func all(_ kind: Kind, _ settings: Settings) -> [ServiceUnit] {
        switch kind {
        case .run: [daemon(settings)]
        case .fix: [fix(settings), timer("changebot-fix", "fix of %i, each night", at: "03:10:00", settings)]
        case .backup:
            [backup(settings), timer("changebot-backup", "backup of %i, each night", at: "02:10:00", settings)]
        }
    }

    /// - Parameters:
    ///   - name: The name without `@.service`.
    ///   - purpose: The first lines of the unit's comment.
    ///   - start: The unit to enable.
    init(
        _ name: String, _ suffix: String, _ purpose: [String], start: String, _ settings: Settings,
        _ sections: [[String]]
    ) {
        self.name = "\(name)@.\(suffix)"
        var comment = ["\(name)@.\(suffix): \(purpose.first ?? "")"]
        comment += purpose.dropFirst()
        comment.append("")
        comment += Self.installation(start, settings)
        let lines = comment.map { $0.isEmpty ? "#" : "# \($0)" }
        text = ([lines] + sections).map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    /// The commands that install the units. `.package/make-files` leaves out the steps that the package does itself.
    private static func installation(_ start: String, _ settings: Settings) -> [String] {
        let unit = start + "@todo." + (start == "changebot" ? "service" : "timer")
        guard !settings.isForUser else {
            let config = settings.option.isEmpty ? "~/.config/changebot/todo.yaml" : settings.config.instance("todo")
            return [
                "Install it, for the configuration file \(config):",
                "  changebot service print --user\(settings.option) --directory ~/.config/systemd/user",
                "  systemctl --user daemon-reload",
                "  systemctl --user enable --now \(unit)",
                "  loginctl enable-linger    # keep it running while you are logged out",
            ] + changes(start, "systemctl --user edit")
        }
        return [
            "Install it as root, for the configuration file \(settings.config.instance("todo")):",
            "  useradd --system --user-group --home-dir /var/lib/changebot --shell /usr/sbin/nologin changebot",
            "  changebot service print\(settings.option) --directory /etc/systemd/system",
            "  systemctl daemon-reload",
            "  systemctl enable --now \(unit)",
        ] + changes(start, "systemctl edit")
    }

    /// The commands that change settings. The timer unit has the time; the service unit has everything else.
    private static func changes(_ start: String, _ edit: String) -> [String] {
        let service = "\(edit) \(start)@todo.service"
        guard start != "changebot" else { return ["To change a setting: \(service)"] }
        return ["To change the time: \(edit) \(start)@todo.timer", "To change another setting: \(service)"]
    }

    /// The section `[Unit]`.
    static func section(_ description: String, _ settings: Settings, _ more: [String] = []) -> [String] {
        var lines = ["[Unit]", "Description=changebot: \(description)"]
        // A user's service manager has no such target.
        if !settings.isForUser { lines += ["Wants=network-online.target", "After=network-online.target"] }
        return lines + more
    }

    static func install(_ target: String) -> [String] { ["[Install]", "WantedBy=\(target)"] }

    private static func timer(_ name: String, _ description: String, at time: String, _ settings: Settings)
        -> ServiceUnit
    {
        ServiceUnit(
            name, "timer", ["starts \(name)@.service."], start: name, settings,
            [
                ["[Unit]", "Description=changebot: \(description)"],
                [
                    "[Timer]",
                    "OnCalendar=*-*-* \(time)",
                    "RandomizedDelaySec=10min",
                    "# If the machine was off at that time, run soon after it starts.",
                    "Persistent=yes",
                ],
                install("timers.target"),
            ])
    }
}

extension String {
    /// The text quoted as one word of a command line in a unit. Specifiers stay.
    ///
    /// - Note: Source: systemd.service(5), "Command lines"; systemd.syntax(7), "Quoting".
    var unitWord: String {
        let text = split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$")
        let isPlain =
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x27 && $0 != 0x5C && $0 != 0x3B }
        guard !isPlain else { return text }
        var quoted = "\""
        for character in text {
            if character == "\"" || character == "\\" { quoted.append("\\") }
            quoted.append(character)
        }
        return quoted + "\""
    }

    /// The text with `%i` replaced by the name of an instance.
    fileprivate func instance(_ name: String) -> String {
        var text = self
        while let place = text.firstRange(of: "%i") { text.replaceSubrange(place, with: name) }
        return text
    }
}
