internal import FoundationEssentials

/// Settings from the environment, which override those of a configuration file. Command-line options override both. The
/// option `--max-errors` corresponds to the variable `CHANGEBOT_MAX_ERRORS` and the key `max_errors`.
struct Environment: Sendable {
    /// Where a setting was found.
    enum Source: Equatable {
        case variable(String)
        /// `FILE:LINE:COLUMN`, and the key there.
        case file(place: String, key: String)

        /// The exit code for an invalid value.
        var code: ExitStatus {
            if case .file = self { .badConfiguration } else { .usage }
        }

        /// The name of the setting, for messages.
        var description: String {
            switch self {
            case .variable(let name): name
            case .file(_, let key): "'\(key)'"
            }
        }
    }

    /// One of the two gateways of `replicate`.
    enum Side: String {
        case source = "SOURCE"
        case target = "TARGET"
    }

    private let values: [String: String]
    private var file: FileSettings?
    private var side: Side?

    private struct FileSettings {
        let source: ConfigurationFile
        /// By the names of keys.
        let settings: [String: ConfigurationFile.Setting]
        /// The bot's name; nil if the file has only one bot.
        let bot: String?
    }

    init(_ values: [String: String] = ProcessInfo.processInfo.environment) { self.values = values }

    /// The environment with the settings of a configuration file.
    ///
    /// - Parameters:
    ///   - bot: The bot whose settings count; nil: only those outside `bots`.
    ///   - isForRun: Whether to include the keys that only `run` uses.
    func with(_ file: ConfigurationFile, bot: ConfigurationFile.Bot?, isForRun: Bool = true) -> Environment {
        var environment = self
        let settings = (bot?.settings ?? file.common).filter { name, _ in
            isForRun || SettingKey.named(name)?.isRunOnly == false
        }
        environment.file = FileSettings(
            source: file, settings: settings, bot: file.bots.count > 1 ? bot?.name : nil)
        return environment
    }

    /// Whether these are the settings for one of two gateways.
    var isForOneSide: Bool { side != nil }

    /// The settings for one of two gateways: `CHANGEBOT_SOURCE_USER` is the user at the source. Credentials come only
    /// from such variables, so they are never sent to the other gateway.
    func of(_ side: Side) -> Environment {
        var environment = self
        environment.side = side
        return environment
    }

    /// The configuration file; nil if there is none.
    var configurationPath: String? { file?.source.path }

    /// The bot's name in the configuration file; nil if the file has only one bot.
    var configuredBot: String? { file?.bot }

    // MARK: - Looking up

    /// The value for an option; nil if it is not set, or its variable is empty.
    subscript(option: String) -> String? { find(option)?.texts.joined(separator: ",") }

    /// Where the value for an option comes from; nil if there is none.
    func source(of option: String) -> Source? { find(option)?.source }

    /// Whether the value for an option comes from the configuration file.
    func isInFile(_ option: String) -> Bool { place(of: option) != nil }

    /// `FILE:LINE:COLUMN` of the value for an option; nil if it does not come from the configuration file.
    func place(of option: String) -> String? {
        if case .file(let place, _)? = source(of: option) { place } else { nil }
    }

    private func find(_ option: String) -> (texts: [String], source: Source)? {
        if side != nil {
            let name = variableName(of: option)
            if let text = variable(name) { return ([text], .variable(name)) }
            if Credentials.options.contains(option) { return nil }
        }
        let name = Self.variable(of: option)
        if let text = variable(name) { return ([text], .variable(name)) }
        return findInFile(option)
    }

    private func findInFile(_ option: String) -> (texts: [String], source: Source)? {
        let key = SettingKey.name(of: option)
        guard let file, let setting = file.settings[key] else { return nil }
        return (setting.texts, .file(place: file.source.place(setting.position), key: key))
    }

    /// The name of the variable for an option.
    static func variable(of option: String) -> String {
        "CHANGEBOT_" + option.uppercased().split(separator: "-").joined(separator: "_")
    }

    /// The name of the variable for an option of this side.
    private func variableName(of option: String) -> String {
        Self.variable(of: side.map { "\($0.rawValue)-\(option)" } ?? option)
    }

    /// The variable with exactly this name; nil if it is unset or empty.
    func variable(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// A view of settings that belong together: if any of them is set by a variable, the file is ignored.
    func together(_ options: [String]) -> Environment {
        var environment = self
        if options.contains(where: { variable(variableName(of: $0)) != nil }) { environment.file = nil }
        return environment
    }

    // MARK: - Parsing

    /// The value of an option from the command line, otherwise from the environment or the file.
    ///
    /// - Throws: ``CommandError`` with 64 that names the variable, or 78 that names the place, if `parse` does not
    ///   accept the value.
    func value<Value>(
        _ flag: Value?, _ option: String, parse: (String) -> Value?
    ) throws(CommandError) -> Value? {
        if let flag { return flag }
        guard let text = self[option], let source = source(of: option) else { return nil }
        guard let value = parse(text) else {
            switch source {
            case .variable(let name):
                throw CommandError(.usage, "\(name)='\(text.visible)' is not valid: \(Self.advice(Value.self))")
            case .file(let place, let key):
                throw CommandError(
                    .badConfiguration,
                    listing: ["\(place): '\(key)' is not valid: '\(text.visible)'; \(Self.advice(Value.self))"])
            }
        }
        return value
    }

    /// The values of a repeatable option from the command line, otherwise from the environment or the file; nil if
    /// there are none.
    func values(_ flags: [String], _ option: String) -> [String]? { flags.isEmpty ? find(option)?.texts : flags }

    /// Like ``value(_:_:parse:)``, for an option that the argument parser does not parse.
    func parsed<Value>(
        _ flag: String?, _ option: String, parse: (String) -> Value?
    ) throws(CommandError) -> Value? {
        guard let flag else { return try value(nil, option, parse: parse) }
        guard let value = parse(flag) else {
            throw CommandError(.usage, "--\(option) '\(flag.visible)' is not valid: \(Self.advice(Value.self))")
        }
        return value
    }

    /// Calls `body`, which checks the value of an option. If the value comes from the file, errors name its place and key
    /// there, and have the code 78 instead of 64.
    func checking<Value>(
        _ option: String, isFlag: Bool, _ body: () throws(CommandError) -> Value
    ) throws(CommandError) -> Value {
        do { return try body() } catch {
            guard !isFlag, !error.isListing, case .file(let place, _)? = source(of: option) else { throw error }
            let key = "'\(SettingKey.name(of: option))'"
            let messages = error.messages.map { message in
                "\(place): "
                    + message.split(separator: "--\(option)", omittingEmptySubsequences: false).joined(separator: key)
            }
            throw CommandError(error.code == .usage ? .badConfiguration : error.code, listing: messages)
        }
    }

    /// An error about contradicting options. It names the place of the first one that is in the file.
    func contradiction(_ options: [String], _ message: String) -> CommandError {
        for option in options {
            guard case .file(let place, _)? = source(of: option) else { continue }
            return CommandError(.badConfiguration, listing: ["\(place): \(message)"])
        }
        return CommandError(.usage, message)
    }

    /// How to add an option, for messages: as a key if `other`, which needs it, is in the file.
    func remedy(_ option: String, _ value: String, for other: String) -> String {
        isInFile(other) ? "write '\(SettingKey.name(of: option)): \(value)'" : "add --\(option) \(value)"
    }

    /// The name of an option in messages: its key if there is a configuration file and the variable is not set,
    /// otherwise its variable.
    func naming(_ option: String) -> String {
        let name = variableName(of: option)
        let key = SettingKey.name(of: option)
        guard side == nil, file != nil, variable(name) == nil, SettingKey.named(key) != nil else { return name }
        return "'\(key)'"
    }

    /// The advice on valid values of this type, for messages.
    private static func advice<Value>(_: Value.Type) -> String {
        if let type = Value.self as? any OptionValue.Type { return "write \(type.expected)" }
        if Value.self == Bool.self { return "write true or false" }
        if Value.self == Int.self { return "write a whole number, such as 64" }
        if let type = Value.self as? any CaseIterable.Type { return "write \(Self.names(of: type))" }
        return "see --help"
    }

    /// The values as `a, b or c`.
    static func names<Values: CaseIterable>(of type: Values.Type) -> String {
        let names = type.allCases.map { ($0 as? any RawRepresentable)?.rawValue as? String ?? "\($0)" }
        return names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    /// Whether a flag is set. Its variable may be `1`, `true`, `yes` or `on`, ignoring case.
    func isOn(_ flag: Bool, _ option: String) throws(CommandError) -> Bool {
        if flag { return true }
        let value = try value(nil, option) { text -> Bool? in
            switch text.lowercased() {
            case "1", "true", "yes", "on": true
            case "0", "false", "no", "off": false
            default: nil
            }
        }
        return value ?? false
    }
}
