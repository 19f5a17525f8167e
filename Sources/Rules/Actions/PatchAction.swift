internal import LosslessJSON

/// Applies a JSON Patch (RFC 6902). If a `test` fails, the rule does not fire.
struct PatchAction: Action {
    static let name = "patch"

    private enum Source: Sendable {
        case fixed(JSONPatch)
        case computed(Template)
    }

    private let source: Source
    private let kind: RuleFileKind

    var programs: [Int] {
        switch source {
        case .fixed: []
        case .computed(let template): template.programs
        }
    }

    /// Nil, with errors, if it is not a list of operations, or an operation edits a member that rules can't edit.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        if !node.isComputed {
            guard case .list = node.content else {
                reading.errors.reportKind(
                    of: node, "patch takes a list of operations (a JSON Patch) or { jq: PROGRAM }",
                    remedy: "begin each with '- op:'")
                return nil
            }
        }
        guard let template = Template(node, reading) else { return nil }
        kind = reading.kind
        guard let literal = template.literal else {
            source = .computed(template)
            return
        }
        do throws(OperationError) { source = .fixed(try Self.patch(literal, kind)) } catch {
            Self.report(error, node, kind, reading.errors)
            return nil
        }
    }

    /// Reports what is wrong with an operation, or with the patch as a whole.
    private static func report(
        _ error: OperationError, _ node: SourceNode, _ kind: RuleFileKind, _ errors: SourceErrors
    ) {
        guard error.operation != nil, case .list(let elements) = node.content else {
            return errors.report(at: node.position, "\(error.reason); correct it")
        }
        for element in elements {
            let alone = SourceNode(content: .list([element]), position: element.position)
            do throws(OperationError) { _ = try patch(alone.jsonText, kind) } catch {
                errors.report(at: element.position, "\(error.reason); correct it")
            }
        }
    }

    private struct OperationError: Error {
        /// The index of the operation, from 0; nil for the patch as a whole.
        let operation: Int?
        let reason: String
        /// The reason with the number of the operation, if that helps.
        var numberedReason: String?
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        let patch: JSONPatch
        switch source {
        case .fixed(let fixed): patch = fixed
        case .computed(let template):
            guard let value = try template.value(outputs, of: "patch") else { return }
            do throws(OperationError) { patch = try Self.patch(value, kind) } catch {
                throw .failed(error.numberedReason ?? error.reason)
            }
        }
        do throws(JSONPatchError) { draft.document = try draft.document.applying(patch) } catch {
            if case .testFailed = error.reason { throw .doesNotApply }
            throw .failed("patch: \(error)")
        }
        guard draft.document.root.kind == .object else {
            throw .failed("patch: the document becomes \(draft.document.excerpt), which is not an object")
        }
    }

    private static func patch(_ json: JSONText, _ kind: RuleFileKind) throws(OperationError) -> JSONPatch {
        let patch: JSONPatch
        do throws(JSONPatchError) { patch = try JSONPatch(json.root) } catch {
            throw OperationError(
                operation: error.operation, reason: "patch: \(error.reason)", numberedReason: "patch: \(error)")
        }
        for (index, operation) in patch.operations.enumerated() where kind == .rules {
            if let reason = error(of: operation) { throw OperationError(operation: index, reason: reason) }
        }
        return patch
    }

    /// A patch can remove attachments but not add them: their content is not in the document.
    private static func error(of operation: JSONPatch.Operation) -> String? {
        switch operation {
        case .test: nil
        case .remove(let pointer): pointer.tokens.first == "_attachments" ? nil : error(ofWriting: pointer)
        case .add(let pointer, _), .replace(let pointer, _), .copy(_, let pointer): error(ofWriting: pointer)
        case .move(let origin, let pointer): error(ofWriting: origin) ?? error(ofWriting: pointer)
        }
    }

    private static func error(ofWriting pointer: JSONPointer) -> String? {
        guard let first = pointer.tokens.first else {
            return "patch can't replace the whole document; name the members to change"
        }
        guard first.begins(with: "_") else { return nil }
        return "patch can't touch '\(first)': "
            + (first == "_attachments" ? "use attach and detach" : "members that begin with '_' belong to the gateway")
    }
}

// MARK: - Checks

extension PatchAction {
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        guard case .list(let operations) = argument.content else {
            prediction.mayEditEverything = true
            return
        }
        for operation in operations { Self.add(operation: operation, to: &prediction) }
    }

    private static func add(operation: SourceNode, to prediction: inout RulePrediction) {
        guard let name = operation.member("op")?.text, let path = path(operation.member("path")) else {
            prediction.mayEditEverything = true
            return
        }
        switch name {
        case "test": prediction.isGuarded = true
        case "remove": prediction.addEdit(path, .removed)
        case "add", "replace": prediction.addEdit(path, operation.member("value").map(RulePrediction.value) ?? .unknown)
        case "move":
            if let origin = self.path(operation.member("from")) {
                prediction.addEdit(origin, .removed)
            } else {
                prediction.mayEditEverything = true
            }
            prediction.addEdit(path, .unknown)
        default: prediction.addEdit(path, .unknown)
        }
    }

    /// Nil if the pointer is computed or names the whole document.
    private static func path(_ node: SourceNode?) -> [String]? {
        node?.text.flatMap { try? JSONPointer($0).tokens }
    }

    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        guard rule.kind == .rules, case .fixed(let patch) = source,
            patch.operations.contains(where: \.removesAttachment)
        else { return [] }
        let message = "the patch removes an attachment implicitly; write detach: NAME"
        return [(element.position, .lostAttachment, message)]
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] {
        argument.listElements.flatMap(BlobCheck.changes).compactMap { check.message($0, own) }
    }

    func computedMembers(_ argument: SourceNode) -> [ComputedMember] {
        argument.listElements.flatMap { operation -> [ComputedMember] in
            guard let path = operation.member("path")?.text, let value = operation.member("value") else { return [] }
            return ComputedMember.members(value, path.split(separator: "/").map(String.init))
        }
    }
}

extension JSONPatch.Operation {
    fileprivate var removesAttachment: Bool {
        if case .remove(let pointer) = self { pointer.tokens.first == "_attachments" } else { false }
    }
}
