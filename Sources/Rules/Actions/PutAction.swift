internal import Encodings
package import LosslessJSON

/// Writes another document.
struct PutAction: Action {
    static let name = "put"
    static let synonyms = ["insert", "create", "write", "upsert"]
    static let writesOthers = true

    static let keys = ["id", "document", "keyspace", "if_exists", "allow_design"]
    static let untestedKeys: Set = ["allow_design"]

    private let id: TextTemplate?
    private let document: Template
    /// Another keyspace of the same server. Nil: the keyspace of the changed document.
    private let keyspace: String?
    private let ifExists: PutEffect.Existing
    private let kind: RuleFileKind
    /// The id, if it is literal in the rule file: only then may it begin with `_`.
    private let literalID: String?

    var programs: [Int] { (id?.programs ?? []) + document.programs }
    var otherKeyspaces: Set<String> { keyspace.map { [$0] } ?? [] }

    /// Nil, with errors, if a value is missing or wrong.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        guard let object = SourceObject(node, "put", known: Self.keys, errors: reading.errors),
            let documentNode = object.required("document", "write the document: document: { type: list-summary }")
        else { return nil }
        let before = reading.errors.errors.count
        kind = reading.kind
        if kind == .mapping { Self.refuseKeysOfRules(object) }
        id = reading.text(object, "id")
        keyspace = Self.keyspace(object)
        ifExists = Self.existing(object)
        guard case .object(let members) = documentNode.content else {
            reading.errors.reportKind(
                of: documentNode, "'document' must be an object or { jq: PROGRAM }",
                remedy: "write document: { type: list-summary }")
            return nil
        }
        for member in members where !kind.mayWrite(member.name) && member.name != "_id" {
            reading.errors.report(
                at: member.position,
                "put can't set '\(member.name)': members that begin with '_' belong to the gateway; remove it")
        }
        let idNodes = [object.node("id"), documentNode.isComputed ? nil : documentNode.member("_id")].compactMap(\.self)
        literalID = idNodes.lazy.compactMap(\.text).first
        ReservedID.check(idNodes, of: object)
        if object.node("id") == nil, !documentNode.isComputed, !members.contains(where: { $0.name == "_id" }) {
            reading.errors.report(
                at: documentNode.position, "'id' is missing; say which document to write: id: { jq: '…' }")
        }
        guard let document = Template(documentNode, reading), reading.errors.errors.count == before else { return nil }
        self.document = document
    }

    /// A mapping can't set the keyspace and the mode; the import's options do.
    private static func refuseKeysOfRules(_ object: SourceObject) {
        for (name, option) in [("if_exists", "--mode"), ("keyspace", "--gateway")] {
            guard let node = object.node(name) else { continue }
            object.errors.report(
                at: node.position,
                "'\(name)' has no meaning in a mapping, where the import's \(option) decides; "
                    + "remove it")
        }
    }

    private static func keyspace(_ object: SourceObject) -> String? {
        guard let name = object.optionalText("keyspace"), let node = object.node("keyspace") else { return nil }
        if name.contains("/") {
            object.errors.report(
                at: node.position,
                "'keyspace' names a keyspace of the same gateway, without its URL; write DATABASE or "
                    + "DATABASE.SCOPE.COLLECTION")
        }
        return name
    }

    private static func existing(_ object: SourceObject) -> PutEffect.Existing {
        guard let node = object.node("if_exists") else { return .keep }
        if case .string(let text) = node.content, let existing = PutEffect.Existing(rawValue: text) { return existing }
        object.errors.report(
            at: node.position, "'if_exists' must be keep (the default), replace or merge; write one of them")
        return .keep
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        let idCount = id?.programs.count ?? 0
        var givenID: String?
        if let id {
            guard let text = try id.text(Array(outputs[..<idCount]), of: "the id of the other document") else { return }
            givenID = text
        }
        for value in try document.values(Array(outputs[idCount...])) where value.root.kind != .null {
            var effect = try effect(value, givenID, draft.document)
            effect.origin = draft.origin
            draft.effects.append(effect)
        }
    }

    private func effect(
        _ value: JSONText, _ givenID: String?, _ source: JSONText
    ) throws(ActionError) -> PutEffect {
        guard value.root.kind == .object else {
            throw .failed("put takes an object; the program gives \(value.excerpt)")
        }
        if let name = value.root.duplicateMemberName {
            throw .failed("put: two members of the document are named '\(name)'")
        }
        for member in value.root.members {
            guard let name = member.name.string, !kind.mayWrite(name), name != "_id" else { continue }
            throw .failed(
                "put can't set '\(name)': members that begin with '_' belong to the gateway; remove it with "
                    + "del(.\(name))")
        }
        let ownID = value.root["_id"].map { $0.string ?? "" }
        guard let id = givenID ?? ownID, !id.isEmpty else {
            throw .failed("put: neither the rule's 'id' nor the document's '_id' names a document; write one")
        }
        if id.begins(with: "_"), literalID?.isSame(as: id) != true { throw .failed(ReservedID.refusal(ofComputed: id)) }
        if let ownID, let givenID, !ownID.utf8.elementsEqual(givenID.utf8) {
            throw .failed("put: 'id' is '\(givenID)', but the document's '_id' is '\(ownID)'; remove one of the two")
        }
        if kind == .rules, keyspace == nil, source.root["_id"]?.isString(id) == true {
            throw .failed("put writes other documents, not the one that changed ('\(id)'); use merge or patch")
        }
        do throws(JSONEditError) {
            var writer = JSONWriter()
            writer.string(id)
            let document = try value.setting(JSONPointer(tokens: ["_id"]), to: writer.bytes)
            return PutEffect(id: id, keyspace: keyspace, document: document, ifExists: ifExists)
        } catch {
            throw ActionError(error)
        }
    }
}

// MARK: - Checks

extension PutAction {
    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] {
        guard let document = argument.member("document") else { return [] }
        return BlobCheck.written(document, []).compactMap { BlobCheck.message(ofPut: $0, document) }
    }

    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        let argument = element.member(Self.name)
        let copy = argument.flatMap { CopiedDocument.message($0, rule.kind) }
        return ActionCheck.copiesOfTombstone(argument?.member("document"), rule) + [copy].compactMap(\.self)
    }

    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: LocatedWrite.Kind)] {
        guard let argument = element.member(Self.name) else { return [] }
        if let keyspace { return [(argument.member("keyspace")?.position ?? element.position, .keyspace(keyspace))] }
        let document = argument.member("document")
        let node = argument.member("id") ?? (document?.isComputed == true ? document : document?.member("_id"))
        return node.flatMap(LocatedWrite.Kind.init(id:)).map { [(element.position, $0)] } ?? []
    }
}

/// Another document that a rule wants written before the changed one.
package struct PutEffect: Effect {
    /// What to do if the document exists already.
    package enum Existing: String, Sendable {
        case keep
        /// Replace everything except its attachments and its expiry.
        case replace
        /// Apply the document as a JSON Merge Patch (RFC 7396).
        case merge
    }

    /// The text of the document's `_id`.
    package let id: String
    /// Another keyspace of the same server. Nil: the keyspace of the changed document.
    package let keyspace: String?
    /// With its `_id`, without `_rev`.
    package let document: JSONText
    /// Default in rule files: `keep`.
    package let ifExists: Existing
    package internal(set) var origin = EffectOrigin(rule: 0, step: 0, element: nil)
    /// What to write instead of ``document`` if no such document exists. Nil: ``document``.
    var creation: JSONText?
    /// Whether a missing document is created.
    var createsMissing = true

    package static let kind = EffectKind.put

    /// The index of the rule that requests it.
    package var rule: Int { origin.rule }

    package var byteCount: Int { document.bytes.count + (creation?.bytes.count ?? 0) }

    package func isDropped(for later: Effects) -> Bool {
        later.of(PutEffect.self).contains { $0.writesSameDocument(as: self) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("action", string: "put")
        writer.member("id", string: id)
        if let keyspace { writer.member("keyspace", string: keyspace) }
        writer.member("if_exists", string: ifExists.rawValue)
        writer.member("document", raw: document.bytes)
    }

    /// Whether both effects write the same document.
    func writesSameDocument(as other: PutEffect) -> Bool {
        id.isSame(as: other.id) && keyspace.map { ExactString($0) } == other.keyspace.map { ExactString($0) }
    }

    /// What to write if the document does not exist: for `merge`, without the members that are null.
    ///
    /// - Returns: Nil if the document must not be created.
    /// - Throws: `JSONEditError`.
    package var newDocument: JSONText? {
        get throws(JSONEditError) {
            guard createsMissing else { return nil }
            if let creation { return creation }
            guard ifExists == .merge else { return document }
            let empty: JSONText
            do throws(JSONError) { empty = try JSONText("{}") } catch { throw .invalidValue(error) }
            return try empty.merging(document.root)
        }
    }

    /// Sets totals in a document and keeps its other members.
    ///
    /// - Parameters:
    ///   - totals: The members to set: an object.
    ///   - creation: The document to create if there is none, with its `_id`. Nil: creates none.
    package static func totals(id: String, _ totals: JSONText, creation: JSONText?) -> PutEffect {
        var effect = PutEffect(id: id, keyspace: nil, document: totals, ifExists: .merge)
        effect.creation = creation
        effect.createsMissing = creation != nil
        return effect
    }

    /// What to write over the existing document.
    ///
    /// - Parameter current: The existing document, with `_id` and `_rev`.
    /// - Returns: Nil if the document needs no change.
    /// - Throws: `JSONEditError` if an edit is ambiguous, as with duplicate members.
    package func write(over current: JSONText) throws(JSONEditError) -> JSONText? {
        let wanted: JSONText
        switch ifExists {
        case .keep: return nil
        case .merge: wanted = try current.merging(document.root)
        case .replace:
            var replacement = document
            for name in ["_rev", "_attachments", DocumentExpiry.member] {
                guard let value = current.root[name], replacement.root[name] == nil else { continue }
                replacement = try replacement.setting(JSONPointer(tokens: [name]), to: value.bytes)
            }
            wanted = replacement
        }
        return wanted.root.isEquivalent(to: current.root) ? nil : wanted
    }
}
