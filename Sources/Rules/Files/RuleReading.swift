internal import JQ

/// The context and results of reading one rule file.
final class RuleReading {
    /// Shared by the files of a rule set.
    final class Shared {
        let attachments: AttachmentFiles.Shared
        let programs = ProgramList()
        /// The names of all rules, including those with errors.
        fileprivate(set) var names: [RuleName] = []

        init(attachments: AttachmentFiles.Shared = AttachmentFiles.Shared()) { self.attachments = attachments }
    }

    let errors: SourceErrors
    let files: AttachmentFiles
    private let shared: Shared
    /// Set after `kind` in the file has been read.
    var kind = RuleFileKind.rules
    /// Whether the file has a valid `every`.
    var isScheduled = false
    /// The names of the file's rules, for its tests. Nil until they have been read without an error.
    var ruleNames: [String]?
    /// The bytes of a YAML file. Empty for JSON.
    var yaml: [UInt8] = []
    /// The additional `$NAME` variables of the file's programs.
    var variables: [String] = []
    /// The programs read so far.
    private(set) var uses: [ProgramUse] = []
    /// Further variables of the programs now being read. Their values are passed with each call.
    var locals: [String] = []

    init(path: String, shared: Shared) {
        errors = SourceErrors(path: path)
        files = AttachmentFiles(folder: RulePath.folder(of: path), shared: shared.attachments)
        self.shared = shared
    }

    func add(_ name: String, at position: SourcePosition) {
        shared.names.append(RuleName(text: name, path: errors.path, position: position))
    }

    /// Adds the jq program of a node and returns its index. Nil, with an error, if the node is not a string.
    func program(_ node: SourceNode) -> Int? {
        guard case .string(let text) = node.content else {
            errors.reportKind(of: node, "a jq program must be text", remedy: "put it in quotes")
            return nil
        }
        let index = shared.programs.add(
            JQProgram(text, locals: locals), variables: variables, path: errors.path, at: node.position, in: yaml)
        uses.append(ProgramUse(program: index, position: node.position))
        return index
    }

    /// Adds a jq program of a file that the rule file names, and returns its index.
    ///
    /// - Parameter node: The value that names the file.
    func program(_ text: String, in place: BodyFilePlace, of node: SourceNode) -> Int {
        let index = shared.programs.add(
            JQProgram(text, locals: locals), variables: variables, path: errors.path, at: node.position,
            inFile: place)
        uses.append(ProgramUse(program: index, position: node.position))
        return index
    }

    /// The text of a program that was read.
    func text(of use: ProgramUse) -> String { shared.programs.all[use.program].text }

    /// Reads a value whose programs have further variables.
    func with<Value>(locals: [String], read: () -> Value) -> Value {
        let before = self.locals
        self.locals += locals
        defer { self.locals = before }
        return read()
    }

    /// A string that may be computed. Nil if it is missing or, with an error, not a string.
    func text(_ object: SourceObject, _ name: String) -> TextTemplate? {
        guard let node = object.node(name) else { return nil }
        if case .object = node.content {
            guard let computation = node.computation else {
                errors.report(at: node.position, "'\(name)' must be text, or { jq: PROGRAM }; put it in quotes")
                return nil
            }
            if let type = computation.type {
                guard let allowed = ResultType(type, errors) else { return nil }
                guard allowed.allowsText else {
                    errors.report(at: type.position, "'\(name)' must be text; write type: string, or leave 'type' out")
                    return nil
                }
            }
            return Template(node, self).map { .computed($0) }
        }
        return object.optionalText(name).map { .literal($0) }
    }

    /// Like ``text(_:_:)``, for a required string.
    func requiredText(_ object: SourceObject, _ name: String, _ remedy: String) -> TextTemplate? {
        object.required(name, remedy) == nil ? nil : text(object, name)
    }
}

/// The name of a rule, with the position of the rule.
struct RuleName {
    let text: String
    let path: String
    let position: SourcePosition
}

extension SourceNode {
    /// The program of a value that is computed as a whole, and the types that its result may have: `{ jq: PROGRAM }` or
    /// `{ jq: PROGRAM, type: TYPE }`. Nil for other values. ``ComputedKeys`` reports other keys.
    var computation: (program: SourceNode, type: SourceNode?)? {
        member("jq").map { ($0, member("type")) }
    }

    var isComputed: Bool { computation != nil }
}
