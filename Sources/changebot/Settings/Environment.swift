internal import Foundation

/// The environment as a place for settings: an option `--max-errors` is the variable `CHANGEBOT_MAX_ERRORS`.
struct Environment {
    private let values: [String: String]

    init(_ values: [String: String] = ProcessInfo.processInfo.environment) { self.values = values }

    /// An empty variable counts as unset.
    subscript(option: String) -> String? {
        values[Self.variable(of: option)].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func variable(of option: String) -> String {
        "CHANGEBOT_" + option.uppercased().split(separator: "-").joined(separator: "_")
    }

    /// A variable under its own name.
    func variable(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The value of an option: what the command line says, else the environment.
    ///
    /// - Throws: A usage failure (64) that names the variable if `parse` does not understand it.
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

    /// The values of an option that can be repeated: those of the command line, else the one of the environment; nil
    /// if there is none.
    func values(_ flags: [String], _ option: String) -> [String]? {
        flags.isEmpty ? self[option].map { [$0] } : flags
    }

    /// The same for an option whose text is understood here.
    func parsed<Value>(
        _ flag: String?, _ option: String, parse: (String) -> Value?
    ) throws(CommandError) -> Value? {
        guard let flag else { return try value(nil, option, parse: parse) }
        guard let value = parse(flag) else {
            throw CommandError(.usage, "--\(option) '\(flag)' is not valid: \(Self.advice(Value.self))")
        }
        return value
    }

    /// What to write where a value of this type is expected.
    private static func advice<Value>(_: Value.Type) -> String {
        if let type = Value.self as? any OptionValue.Type { return "write \(type.expected)" }
        if Value.self == Bool.self { return "write true or false" }
        if let type = Value.self as? any CaseIterable.Type { return "write \(Self.names(of: type))" }
        return "see --help"
    }

    /// `a, b or c`.
    static func names<Values: CaseIterable>(of type: Values.Type) -> String {
        let names = type.allCases.map { ($0 as? any RawRepresentable)?.rawValue as? String ?? "\($0)" }
        return names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    /// Whether a switch is on: `1`, `true`, `yes`, `on` in any case.
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
