/// What reading one rule file needs beside its text, and what it leaves behind.
final class RuleReading {
    /// What the files of a rule set have in common.
    final class Shared {
        let attachments = AttachmentFiles.Shared()
        let programs = ProgramList()
        /// The names of all rules, also of those that have faults.
        fileprivate(set) var names: [RuleName] = []
    }

    let faults: SourceFaults
    let files: AttachmentFiles
    private let shared: Shared
    /// Set when the file has said it.
    var kind = RuleFileKind.rules
    /// The file's bytes, if it is YAML.
    var yaml: [UInt8] = []
    /// What programs know as `$NAME` beside what all know.
    var variables: [String] = []

    init(path: String, shared: Shared) {
        faults = SourceFaults(path: path)
        files = AttachmentFiles(folder: RulePath.folder(of: path), shared: shared.attachments)
        self.shared = shared
    }

    func add(_ name: String, at position: SourcePosition) {
        shared.names.append(RuleName(text: name, path: faults.path, position: position))
    }

    /// The index of the jq program that a node spells out; nil, with a fault, if it is no text.
    func program(_ node: SourceNode) -> Int? {
        guard case .string(let text) = node.content else {
            faults.reportKind(of: node, "a jq program must be text", remedy: "put it in quotes")
            return nil
        }
        return shared.programs.add(text, variables: variables, path: faults.path, at: node.position, in: yaml)
    }

    /// A text of an object that may be computed; nil if there is none, or, with a fault, if it is no text.
    func text(_ object: SourceObject, _ name: String) -> TextTemplate? {
        guard let node = object.node(name) else { return nil }
        if case .object = node.content {
            guard node.isComputed else {
                faults.report(at: node.position, "'\(name)' must be text, or { jq: PROGRAM }; put it in quotes")
                return nil
            }
            return Template(node, self).map { .computed($0) }
        }
        return object.optionalText(name).map { .literal($0) }
    }

    /// A text that must be there.
    func requiredText(_ object: SourceObject, _ name: String, _ remedy: String) -> TextTemplate? {
        object.required(name, remedy) == nil ? nil : text(object, name)
    }
}

/// What a rule is named, and where it begins.
struct RuleName {
    let text: String
    let path: String
    let position: SourcePosition
}

extension SourceNode {
    /// Whether all of the value is computed: `{ jq: PROGRAM }`.
    var isComputed: Bool {
        if case .object(let members) = content { members.count == 1 && members[0].name == "jq" } else { false }
    }
}
