internal import FoundationEssentials

/// Settings from the environment: the option `--max-errors` is the variable `CHANGEBOT_MAX_ERRORS`.
struct Environment {
    private let values: [String: String]

    init(_ values: [String: String] = ProcessInfo.processInfo.environment) { self.values = values }

    /// The value for an option; nil if the variable is unset or empty.
    subscript(option: String) -> String? {
        values[Self.variable(of: option)].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func variable(of option: String) -> String {
        "CHANGEBOT_" + option.uppercased().split(separator: "-").joined(separator: "_")
    }

    /// The variable with exactly this name; nil if it is unset or empty.
    func variable(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The value of an option from the command line, else from the environment.
    ///
    /// - Throws: ``CommandError`` with 64 that names the variable if `parse` does not accept its value.
    func value<Value>(
        _ flag: Value?, _ option: String, parse: (String) -> Value?
    ) throws(CommandError) -> Value? {
        if let flag { return flag }
        guard let text = self[option] else { return nil }
        guard let value = parse(text) else {
            throw CommandError(
                .usage, "\(Self.variable(of: option))='\(text)' is not valid: \(Self.advice(Value.self))")
        }
        return value
    }

    /// The values of an option that can be repeated: those of the command line, else the one from the environment; nil
    /// if there is none.
    func values(_ flags: [String], _ option: String) -> [String]? {
        flags.isEmpty ? self[option].map { [$0] } : flags
    }

    /// As ``value(_:_:parse:)``, for an option that is parsed here and not by the argument parser.
    func parsed<Value>(
        _ flag: String?, _ option: String, parse: (String) -> Value?
    ) throws(CommandError) -> Value? {
        guard let flag else { return try value(nil, option, parse: parse) }
        guard let value = parse(flag) else {
            throw CommandError(.usage, "--\(option) '\(flag)' is not valid: \(Self.advice(Value.self))")
        }
        return value
    }

    /// What a message says about the expected value of this type.
    private static func advice<Value>(_: Value.Type) -> String {
        if let type = Value.self as? any OptionValue.Type { return "write \(type.expected)" }
        if Value.self == Bool.self { return "write true or false" }
        if let type = Value.self as? any CaseIterable.Type { return "write \(Self.names(of: type))" }
        return "see --help"
    }

    /// The values as `a, b or c`.
    static func names<Values: CaseIterable>(of type: Values.Type) -> String {
        let names = type.allCases.map { ($0 as? any RawRepresentable)?.rawValue as? String ?? "\($0)" }
        return names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    /// Whether a switch is on. Its variable may be `1`, `true`, `yes` or `on`, in any case.
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
