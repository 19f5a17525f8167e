internal import LosslessJSON

/// Recognises a file that was given in place of another kind of file. For messages only.
package enum ForeignFile: Sendable {
    /// A rule file, where a configuration file belongs.
    case rules
    /// A configuration file, where rules belong.
    case configuration
    /// Documents, where rules or a configuration file belong.
    case documents

    /// The kind of file that is expected.
    package enum Wanted: Sendable { case rules, configuration }

    /// Nil if the content may be of the expected kind.
    package init?(_ root: SourceNode, in place: Wanted) {
        switch root.content {
        case .object(let members):
            let names = Set(members.map(\.name))
            let hasRules = members.contains { $0.name == "rules" && $0.value.isListOfObjects }
            switch place {
            case .configuration where hasRules && names.isDisjoint(with: Self.keysOfConfigurations): self = .rules
            case .rules where !hasRules && !names.isDisjoint(with: Self.keysOfConfigurations): self = .configuration
            case _ where names.contains("_id") && !names.contains("version"): self = .documents
            default: return nil
            }
        case .list(let elements):
            guard elements.contains(where: { $0.hasMember("_id") }) else { return nil }
            self = .documents
        default: return nil
        }
    }

    /// Nil if the text of a file that can't be read as YAML or JSON does not look like documents.
    init?(path: String, text: String) {
        let lines = text.split(whereSeparator: \.isNewline).lazy.filter { !$0.allSatisfy(\.isWhitespace) }.prefix(2)
        let areObjects = lines.count == 2 && lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") }
        let isTable = [".csv", ".tsv"].contains { path.lowercased().hasSuffix($0) }
        guard areObjects || isTable else { return nil }
        self = .documents
    }

    /// Keys that only a configuration file has at its beginning.
    private static let keysOfConfigurations: Set<String> = ["bots", "gateway"]

    /// What the file is, and what to do with it.
    package func message(path: String, in place: Wanted) -> String {
        let file = DisplayText.plain(path)
        switch (self, place) {
        case (.rules, _):
            return
                "these are rules, not a configuration file; name them with --rules \(file), or as 'rules:' of a bot in "
                + "a configuration file"
        case (.configuration, _):
            return
                "this is a configuration file, not a rule file; run it with changebot run --config \(file), check it "
                + "with changebot config check --config \(file)"
        case (.documents, .rules):
            return "these are documents, not rules; to see what rules do with them: changebot rules try RULES --input "
                + "\(file); to write them: changebot import \(file)"
        case (.documents, .configuration):
            return "these are documents, not a configuration file; to write them: changebot import \(file)"
        }
    }
}

extension SourceNode {
    fileprivate var isListOfObjects: Bool {
        guard case .list(let elements) = content else { return false }
        return elements.contains { if case .object = $0.content { true } else { false } }
    }

    fileprivate func hasMember(_ name: String) -> Bool {
        guard case .object(let members) = content else { return false }
        return members.contains { $0.name == name }
    }
}
