internal import LosslessJSON

/// A selector for other documents. Some of its values are computed by jq programs from the changed document.
///
/// Only values are computed, never fields or operators, so a document can't widen the selector. An object that a
/// program gives is compared as it is, even if it looks like `{"$gt": null}`.
struct SelectorTemplate: Sendable {
    private struct Computed: Sendable {
        /// The permitted type of its output. Nil: any type.
        let type: ResultType?
    }

    private let node: SourceNode
    /// In the order of the file.
    private let computed: [Computed]
    /// The programs of the computed values as indexes in the ``ProgramList``, in the order of the file.
    let programs: [Int]
    /// The selector with a text in place of each computed value: shows which fields it tests.
    let example: RelatedSelector

    /// Nil, with errors, if CouchDB would refuse the selector, if something other than a value is computed, or if the
    /// selector matches every document.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let before = reading.errors.errors.count
        var computed: [Computed] = []
        var programs: [Int] = []
        let example = node.replacingComputed(at: .selector) { value, place in
            if let message = place.refusal { reading.errors.report(at: value.position, message) }
            guard let computation = value.computation else { return value }
            let type = computation.type.flatMap { ResultType($0, reading.errors) }
            if let program = reading.program(computation.program) {
                computed.append(Computed(type: type))
                programs.append(program)
            }
            return place.example(at: value.position)
        }
        guard reading.errors.errors.count == before,
            let selector = SelectorReader.read(example, errors: reading.errors)
        else { return nil }
        guard !selector.matchesEverything else {
            reading.errors.report(
                at: node.position,
                "the selector matches every document; say which ones are related: type: task, "
                    + "list: { jq: ._id }")
            return nil
        }
        self.node = node
        self.computed = computed
        self.programs = programs
        self.example = RelatedSelector(
            selector: selector, json: example.json, namesDesignDocuments: selector.namesDesignDocuments)
    }

    /// The selector with its values filled in. Nil if a value has no output or is null: then no document is related.
    ///
    /// - Parameter outputs: For each of ``programs``, its outputs.
    /// - Throws: ``ActionError`` if a value has a type that is not permitted, CouchDB would refuse the selector, or the
    ///   selector matches every document.
    func filled(_ outputs: [[JSONText]]) throws(ActionError) -> RelatedSelector? {
        guard !computed.isEmpty else { return example }
        let errors = SourceErrors(path: "")
        var values: [SourceNode] = []
        for (part, outputs) in zip(computed, outputs) {
            guard outputs.count <= 1 else {
                throw .failed(
                    "related: a program in the selector gives \(outputs.count) values; it must give one")
            }
            guard let value = outputs.first else { return nil }
            if let type = part.type, !type.accepts(value.root) {
                throw .failed(
                    "related: a value of the selector must be \(type.text); the program gives \(value.excerpt)")
            }
            guard value.root.kind != .null else { return nil }
            guard let node = JSONSource.read(value.bytes, errors: errors) else { throw Self.refusal(errors) }
            values.append(node)
        }
        var next = 0
        let filled = node.replacingComputed(at: .selector) { value, place in
            defer { next += 1 }
            return next < values.count ? place.literal(values[next]) : value
        }
        guard let selector = SelectorReader.read(filled, errors: errors), errors.errors.isEmpty else {
            throw Self.refusal(errors)
        }
        // A document can't make a rule see design documents.
        let result = RelatedSelector(
            selector: selector, json: filled.json, namesDesignDocuments: example.namesDesignDocuments)
        guard !selector.matchesEverything else {
            throw .failed(
                "related: once its values are filled in, the selector matches every document: "
                    + "\(result.excerpt)")
        }
        return result
    }

    private static func refusal(_ errors: SourceErrors) -> ActionError {
        .failed(
            "related: the selector is not valid once its values are filled in: "
                + "\(errors.errors.first?.message ?? "")")
    }
}

/// A selector for other documents, with its values filled in.
package struct RelatedSelector: Sendable {
    let selector: Selector
    /// As sent to CouchDB.
    package let json: [UInt8]
    /// Whether the rule itself names design documents: only then may they match.
    var namesDesignDocuments = false

    /// The beginning of the selector, for messages.
    package var excerpt: String { DisplayText.plain(String(decoding: json, as: UTF8.self), limit: 200) }
}

// MARK: - The places of computed values

extension SourceNode {
    /// The role of a part of a selector.
    fileprivate enum SelectorPlace {
        /// A selector, or what a combination such as `$not` applies to.
        case selector
        /// A list of selectors.
        case selectors
        /// The value of a field: a literal, or conditions.
        case value
        /// The argument of a comparison operator.
        case argument(String)
        /// The argument of any other operator.
        case fixed(String)
        /// A value, or a part of one.
        case literal
    }

    /// The tree with other nodes in place of the computed ones. Recurses as deep as a rule file may be nested.
    fileprivate func replacingComputed(
        at place: SelectorPlace, _ replace: (SourceNode, SelectorPlace) -> SourceNode
    ) -> SourceNode {
        if isComputed { return replace(self, place) }
        switch content {
        case .null, .bool, .number, .string: return self
        case .list(let elements):
            let inner: SelectorPlace = if case .selectors = place { .selector } else { .literal }
            return SourceNode(
                content: .list(elements.map { $0.replacingComputed(at: inner, replace) }), position: position)
        case .object(let members):
            let replaced = members.map { member in
                Member(
                    name: member.name, position: member.position,
                    value: member.value.replacingComputed(at: place.place(of: member.name), replace))
            }
            return SourceNode(content: .object(replaced), position: position)
        }
    }
}

extension SourceNode.SelectorPlace {
    /// The place of a member of an object at this place.
    func place(of name: String) -> Self {
        switch self {
        case .literal, .argument, .fixed: return .literal
        case .selector, .selectors, .value: break
        }
        switch name {
        case "$and", "$or", "$nor": return .selectors
        case "$not", "$elemMatch", "$allMatch", "$keyMapMatch": return .selector
        case "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$all", "$beginsWith", "$size":
            return .argument(name)
        default: return name.hasPrefix("$") ? .fixed(name) : .value
        }
    }

    /// Why nothing can be computed here; nil if it can.
    var refusal: String? {
        switch self {
        case .value, .argument, .literal: nil
        case .selector, .selectors:
            "only the values of a selector can be computed; write its fields: list: { jq: ._id }"
        case .fixed(let name):
            "the argument of \(name) can't be computed; write it out, or compare with a computed value: { $eq: { jq: "
                + "… } }"
        }
    }

    /// A stand-in for a value that is not computed yet.
    func example(at position: SourcePosition) -> SourceNode {
        let text = SourceNode(content: .string("computed"), position: position)
        guard case .argument(let name) = self else { return text }
        switch name {
        case "$in", "$nin", "$all": return SourceNode(content: .list([text]), position: position)
        case "$size": return SourceNode(content: .number("1"), position: position)
        default: return text
        }
    }

    /// The value at this place, as a value: the members of an object are neither fields nor operators.
    func literal(_ value: SourceNode) -> SourceNode {
        guard case .value = self, case .object = value.content else { return value }
        return SourceNode(
            content: .object([SourceNode.Member(name: "$eq", position: value.position, value: value)]),
            position: value.position)
    }
}
