internal import LosslessJSON

/// Applies a JSON Patch (RFC 6902). A `test` that fails means that the rule does not fire.
struct PatchAction: Sendable {
    enum Source: Sendable {
        case fixed(JSONPatch)
        case computed(Template)
    }

    let source: Source

    var programs: [Int] {
        switch source {
        case .fixed: []
        case .computed(let template): template.programs
        }
    }

    /// Nil, with faults, if it is not a list of operations, or one of them touches what is not a rule's to change.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        if !node.isComputed {
            guard case .list = node.content else {
                reading.faults.report(
                    at: node.position,
                    "patch takes a list of operations (a JSON Patch) or { jq: PROGRAM }, not \(node.kindName); "
                        + "begin each with '- op:'")
                return nil
            }
        }
        guard let template = Template(node, reading) else { return nil }
        guard let literal = template.literal else {
            source = .computed(template)
            return
        }
        do throws(ActionFault) { source = .fixed(try Self.patch(literal)) } catch {
            if case .failed(let reason) = error { reading.faults.report(at: node.position, "\(reason); correct it") }
            return nil
        }
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionFault) {
        let patch: JSONPatch
        switch source {
        case .fixed(let fixed): patch = fixed
        case .computed(let template):
            guard let value = try template.value(outputs, of: "patch") else { return }
            patch = try Self.patch(value)
        }
        do throws(JSONPatchFault) { draft.document = try draft.document.applying(patch) } catch {
            if case .testFailed = error.reason { throw .doesNotApply }
            throw .failed(error.description)
        }
    }

    private static func patch(_ json: JSONText) throws(ActionFault) -> JSONPatch {
        let patch: JSONPatch
        do throws(JSONPatchFault) { patch = try JSONPatch(json.root) } catch { throw .failed(error.description) }
        for operation in patch.operations { try check(operation) }
        return patch
    }

    /// Attachments can be taken away by a patch, but not made: their content is not in the document.
    private static func check(_ operation: JSONPatch.Operation) throws(ActionFault) {
        switch operation {
        case .test: break
        case .remove(let pointer):
            if pointer.tokens.first != "_attachments" { try check(pointer) }
        case .add(let pointer, _), .replace(let pointer, _), .copy(_, let pointer): try check(pointer)
        case .move(let origin, let pointer):
            try check(origin)
            try check(pointer)
        }
    }

    private static func check(_ pointer: JSONPointer) throws(ActionFault) {
        guard let first = pointer.tokens.first else {
            throw .failed("patch can't replace the whole document; name what is to change")
        }
        guard !first.hasPrefix("_") else {
            let remedy =
                first == "_attachments" ? "use attach and detach" : "members that begin with '_' are the gateway's"
            throw .failed("patch can't touch '\(first)': \(remedy)")
        }
    }
}
