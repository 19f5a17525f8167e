internal import Encodings

/// The identity of a bot. Only its rules may change while it runs.
package struct BotDescription: Sendable {
    /// `--name`.
    package let name: String
    /// The keyspace's URL, without credentials.
    package let gateway: String
    /// The options with which `changebot dead-letters` finds the bot's state; nil if the state does not outlive the
    /// run.
    package let stateOptions: String?
    /// Whether these options also specify the rules.
    package let findsRules: Bool
    /// The rules in force.
    package internal(set) var rules: RuleSetDescription

    /// - Parameter gateway: Must not contain credentials.
    package init(
        name: String, gateway: String, stateOptions: String?, findsRules: Bool = false, rules: RuleSetDescription
    ) {
        self.name = name
        self.gateway = gateway
        self.stateOptions = stateOptions
        self.findsRules = findsRules
        self.rules = rules
    }
}

extension BotDescription {
    /// The options of `changebot dead-letters retry`; nil if the state does not outlive the run.
    var retryOptions: String? {
        stateOptions.map { options in
            findsRules ? options : "\(options) --rules \(rules.absolutePaths.map(\.shellWord).joined(separator: " "))"
        }
    }
}

/// The rules in force.
package struct RuleSetDescription: Sendable {
    /// Identifies the rules and their files.
    package let hash: String
    /// Names in rule order.
    package let names: [String]
    /// As given on the command line.
    package let paths: [String]
    /// The same paths, made absolute.
    let absolutePaths: [String]

    /// The rules as they were loaded.
    package init(hash: String, names: [String], paths: [String], absolutePaths: [String]? = nil) {
        self.absolutePaths = absolutePaths ?? paths
        self.hash = hash
        self.names = names
        self.paths = paths
    }
}
