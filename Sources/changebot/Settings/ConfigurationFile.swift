internal import Rules

/// A configuration file (`--config`): the settings of one bot, or of several.
///
/// ```yaml
/// version: 1
/// http: 127.0.0.1:9464
/// retry_for: 10m          # for all bots
/// bots:
///   - name: pictures
///     gateway: http://127.0.0.1:4984/todo
///     rules: rules/attach-images.yaml
/// ```
struct ConfigurationFile: Sendable {
    /// A value and its position in the file.
    struct Setting: Sendable {
        /// The value, or all values of a list.
        let texts: [String]
        let position: SourcePosition
    }

    struct Bot: Sendable {
        let name: String
        let position: SourcePosition
        /// By the names of keys, including the settings for all bots.
        let settings: [String: Setting]
    }

    let path: String
    /// The settings outside `bots`, by the names of keys.
    let common: [String: Setting]
    /// At least one bot; their names differ.
    let bots: [Bot]

    /// Reads and checks a file. Values are checked where they are used. Blocks.
    ///
    /// - Throws: ``CommandError`` with 66 if the file can't be read, 78 with all errors and their places.
    static func read(_ path: String) throws(CommandError) -> ConfigurationFile {
        let (file, errors) = try inspect(path)
        guard let file, errors.isEmpty else { throw CommandError(.badConfiguration, listing: errors) }
        return file
    }

    /// Reads a file as far as it is valid. Blocks.
    ///
    /// - Returns: The valid part of the file, nil if there is none; and all errors with their places.
    /// - Throws: ``CommandError`` with 66 if the file can't be read, 78 if it is not YAML or JSON.
    static func inspect(_ path: String) throws(CommandError) -> (file: ConfigurationFile?, errors: [String]) {
        let root: SourceNode
        do throws(RuleFilesError) {
            root = try SourceFile.read(
                path: path, beginning: "a configuration file begins with 'version: 1' and has 'bots:'",
                as: .configuration)
        } catch {
            throw CommandError(
                error.kind == .missing ? .missingInput : .badConfiguration,
                listing: error.errors.map(\.description))
        }
        var reading = ConfigurationReading(path: path)
        let file = reading.file(root)
        return (file, reading.errors.map(\.description))
    }

    /// The settings of the whole process, by the names of keys.
    var processSettings: [String: Setting] { common.filter { Self.isProcessKey($0.key) } }

    private static func isProcessKey(_ key: String) -> Bool { SettingKey.named(key)?.scope == .process }

    /// The file with other settings for the whole process, which can't change while it runs.
    func with(processSettings: [String: Setting]) -> ConfigurationFile {
        func replaced(_ settings: [String: Setting]) -> [String: Setting] {
            settings.filter { !Self.isProcessKey($0.key) }.merging(processSettings) { _, former in former }
        }
        return ConfigurationFile(
            path: path, common: replaced(common),
            bots: bots.map { Bot(name: $0.name, position: $0.position, settings: replaced($0.settings)) })
    }

    /// The process-wide keys whose values differ from these, in order.
    func processKeys(otherThan former: [String: Setting]) -> [String] {
        SettingKey.all.map(\.name).filter {
            Self.isProcessKey($0) && common[$0]?.texts != former[$0]?.texts
        }
    }

    /// `FILE:LINE:COLUMN`.
    func place(_ position: SourcePosition) -> String { "\(path):\(position.line):\(position.column)" }
}

/// Reads the content of a configuration file and collects all errors.
private struct ConfigurationReading {
    let path: String
    var errors: [RuleFileError] = []

    private static let keysOutsideBots = SettingKey.all.map(\.name)
    private static let botKeys = SettingKey.all.filter { $0.scope == .bot }.map(\.name)

    init(path: String) { self.path = path }

    private mutating func report(_ position: SourcePosition, _ message: String) {
        errors.append(RuleFileError(path: path, position: position, message: message))
    }

    /// Returns nil and reports an error if `root` is not an object.
    mutating func file(_ root: SourceNode) -> ConfigurationFile? {
        guard case .object(let members) = root.content else {
            report(
                root.position, "a configuration file must be an object, not \(root.kindName); begin with 'version: 1'")
            return nil
        }
        readVersion(members, root)
        let list = members.first { $0.name == "bots" }
        let common = settings(
            members.filter { !["version", "bots", "$schema"].contains($0.name) }, Self.keysOutsideBots)
        guard let list else {
            let name = common["name"]
            let bot = ConfigurationFile.Bot(
                name: name?.texts.first ?? StateOptions.defaultName, position: name?.position ?? root.position,
                settings: common)
            return ConfigurationFile(path: path, common: common, bots: [bot])
        }
        for name in ["name", "summary"] {
            guard let setting = common[name] else { continue }
            report(setting.position, "each bot has its own '\(name)'; move it to a bot in 'bots'")
        }
        let bots = bots(list.value, common)
        return bots.isEmpty ? nil : ConfigurationFile(path: path, common: common, bots: bots)
    }

    private mutating func readVersion(_ members: [SourceNode.Member], _ root: SourceNode) {
        guard let version = members.first(where: { $0.name == "version" }) else {
            return report(root.position, "'version' is missing; begin the file with 'version: 1'")
        }
        if case .number("1") = version.value.content { return }
        report(
            version.value.position, "this version of changebot supports only configuration files with 'version: 1'")
    }

    private mutating func bots(
        _ node: SourceNode, _ common: [String: ConfigurationFile.Setting]
    ) -> [ConfigurationFile.Bot] {
        guard case .list(let elements) = node.content, !elements.isEmpty else {
            report(node.position, "'bots' must be a list of bots; begin each with '- name:'")
            return []
        }
        var bots: [ConfigurationFile.Bot] = []
        for element in elements {
            guard case .object(let members) = element.content else {
                report(element.position, "a bot must be an object, not \(element.kindName); begin it with '- name:'")
                continue
            }
            let own = settings(members, Self.botKeys)
            guard let name = own["name"], let text = name.texts.first else {
                if !members.contains(where: { $0.name == "name" }) {
                    report(
                        element.position,
                        "the bot has no 'name'; write one: its checkpoint and dead letters are kept under it")
                }
                continue
            }
            if let other = bots.first(where: { $0.name == "fix-" + text || "fix-" + $0.name == text }) {
                let fixed = text.count < other.name.count ? text : other.name
                report(
                    name.position,
                    "'fix' of the bot '\(fixed)' keeps its state under the name 'fix-\(fixed)', which another bot has; "
                        + "rename this bot or '\(other.name)' (line \(other.position.line))")
            }
            if let other = bots.first(where: { $0.name == text }) {
                report(
                    name.position,
                    "another bot is also named '\(text)' (line \(other.position.line)), so both would use the same "
                        + "checkpoint; rename one")
            }
            bots.append(
                ConfigurationFile.Bot(
                    name: text, position: name.position, settings: common.merging(own) { _, own in own }))
        }
        return bots
    }

    private mutating func settings(
        _ members: [SourceNode.Member], _ known: [String]
    ) -> [String: ConfigurationFile.Setting] {
        var settings: [String: ConfigurationFile.Setting] = [:]
        for member in members {
            guard known.contains(member.name), let key = SettingKey.named(member.name) else {
                report(member.position, Self.unknown(member.name, known))
                continue
            }
            guard let texts = texts(member.value, key) else { continue }
            settings[key.name] = ConfigurationFile.Setting(texts: texts, position: member.value.position)
        }
        return settings
    }

    private static func unknown(_ name: String, _ known: [String]) -> String {
        if ["password", "token", "client_secret", "api_key"].contains(name) {
            return "a secret does not belong in this file: write '\(name)_file' with the path of a file that holds it, "
                + "or '\(name)_credential' with the name of a systemd credential"
        }
        if SettingKey.named(name) != nil {
            return "'\(name)' applies to the whole process, not to one bot; write it outside 'bots'"
        }
        if SettingKey.name(of: name) != name, known.contains(SettingKey.name(of: name)) {
            return "'\(name.visible)' is not known to this version; write '\(SettingKey.name(of: name))'"
        }
        return "'\(name.visible)' is not known to this version"
            + NearestName.advice(NearestName.of(name, among: known), among: known)
    }

    /// Returns nil and reports an error if the value is not of the key's kind.
    private mutating func texts(_ node: SourceNode, _ key: SettingKey) -> [String]? {
        switch (node.content, key.kind) {
        case (.bool(let value), .flag): return [value ? "true" : "false"]
        case (_, .flag): report(node.position, "'\(key.name)' must be true or false, not \(node.kindName)")
        case (.string(""), _): report(node.position, "'\(key.name)' is empty; write a value, or remove the key")
        case (.string(let text), _): return [resolved(text, key)]
        case (.number(let text), .text): return [text]
        case (.list(let elements), .command):
            let texts = elements.compactMap { if case .string(let text) = $0.content { text } else { nil } }
            if let program = texts.first, !program.isEmpty, texts.count == elements.count {
                return [program.contains("/") ? joined(program) : program] + texts.dropFirst()
            }
            report(
                node.position, "'\(key.name)' must be a command line, or a list of a program and its arguments as text")
        case (.list(let elements), .list) where elements.isEmpty, (.list(let elements), .paths) where elements.isEmpty:
            report(node.position, "'\(key.name)' is an empty list; write a value, or remove the key")
        case (.list(let elements), .list), (.list(let elements), .paths):
            let texts = elements.compactMap { element -> String? in
                if case .string(let text) = element.content, !text.isEmpty { return resolved(text, key) }
                return nil
            }
            if texts.count == elements.count, !texts.isEmpty { return texts }
            report(node.position, "'\(key.name)' must be a string or a list of strings; put each in quotes")
        case (.null, _): report(node.position, "'\(key.name)' has no value; write one, or remove the key")
        default: report(node.position, "'\(key.name)' must be text, not \(node.kindName); put it in quotes")
        }
        return nil
    }

    /// Resolves paths, which are relative to the file's folder.
    private func resolved(_ text: String, _ key: SettingKey) -> String {
        switch key.kind {
        case .path, .paths: return joined(text)
        case .gateway where text.hasPrefix("embedded:") && text != "embedded:":
            return "embedded:" + joined(String(text.dropFirst("embedded:".count)))
        case .text, .flag, .list, .gateway, .command: return text
        }
    }

    private func joined(_ path: String) -> String {
        guard !path.hasPrefix("/"), let slash = self.path.lastIndex(of: "/") else { return path }
        return String(self.path[...slash]) + path
    }
}
