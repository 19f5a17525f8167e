internal import JQ
internal import LosslessJSON

/// One test of a rule file: a document, and the expected effect of the file's rules.
struct RuleTest: Sendable {
    let name: String
    let position: SourcePosition
    let given: JSONText
    /// The names of the rules that take part. Nil: all.
    let only: [String]?
    /// The document as the rules last saw it. Nil: they see it for the first time.
    let before: JSONText?
    /// Whether the document has other leaf revisions.
    let isInConflict: Bool
    /// `$now`, in seconds since 1970. Nil: the runner's time.
    let now: Int?
    /// The data for the mapping's `slurp` names, where the test sets it.
    let slurps: [JQBinding]
    let expectation: RuleExpectation
}

extension RuleTest {
    private static let keys = ["name", "only", "before", "given", "in_conflict", "now", "slurp", "expect"]

    /// Nil, with errors, if the node is not a test.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard
            let object = SourceObject(
                node, "a test", known: Self.keys, places: RuleExpectation.places, errors: errors)
        else { return nil }
        let errorCount = errors.errors.count
        let name = object.requiredText("name", "say what the test shows")
        let only = object.node("only").flatMap { RuleExpectation.names($0, "only", reading) }
        let before = object.node("before").flatMap { Self.before($0, reading) }
        let given = object.required("given", "give the document: given: { _id: t1, type: task }")
        if let given, case .object = given.content {
        } else if let given {
            errors.reportKind(of: given, "'given' must be a document", remedy: "write given: { _id: t1, type: task }")
        }
        if let id = object.node("before")?.member("_id"), let given = given?.member("_id"),
            id.jsonText.root.isEquivalent(to: given.jsonText.root) == false
        {
            errors.report(
                at: id.position, "'before' and 'given' have different _ids; write the same document, as it was before")
        }
        let isInConflict = Self.isInConflict(object, reading)
        let now = Self.now(object)
        let slurps = object.node("slurp").map { Self.slurps($0, reading) } ?? []
        let expectation = object.required("expect", "say what is expected: expect: { fired: [] }").flatMap {
            RuleExpectation($0, reading)
        }
        guard errors.errors.count == errorCount, let name, let given, let expectation else { return nil }
        self.init(
            name: name, position: node.position, given: given.jsonText, only: only, before: before,
            isInConflict: isInConflict, now: now, slurps: slurps, expectation: expectation)
    }

    private static func before(_ node: SourceNode, _ reading: RuleReading) -> JSONText? {
        if reading.kind == .mapping {
            reading.errors.report(
                at: node.position, "'before' has no meaning in a mapping, which sees each document once; remove it")
        }
        guard case .object = node.content else {
            reading.errors.reportKind(
                of: node, "'before' must be the document as the rules last saw it",
                remedy: "write before: { _id: t1, type: task }")
            return nil
        }
        return node.jsonText
    }

    private static func slurps(_ node: SourceNode, _ reading: RuleReading) -> [JQBinding] {
        guard case .object(let members) = node.content else {
            reading.errors.report(
                at: node.position, "'slurp' must be an object with a list for each name; write slurp: { users: [] }")
            return []
        }
        return members.compactMap { member in
            if !reading.variables.contains(member.name) {
                reading.errors.report(
                    at: member.position, "'\(member.name)' is not in the file's 'slurp' list; add it there")
                return nil
            }
            guard case .list = member.value.content else {
                reading.errors.reportKind(
                    of: member.value, "'\(member.name)' must be a list of documents", remedy: "put it in brackets: […]")
                return nil
            }
            do throws(JQError) { return try JQBinding(name: member.name, member.value.jsonText) } catch {
                reading.errors.report(at: member.value.position, "the data can't be used: \(error)")
                return nil
            }
        }
    }

    private static func isInConflict(_ object: SourceObject, _ reading: RuleReading) -> Bool {
        guard let node = object.node("in_conflict") else { return false }
        if reading.kind == .mapping {
            object.errors.report(
                at: node.position,
                "'in_conflict' has no meaning in a mapping, which sees one revision at a time; "
                    + "remove it")
        }
        guard case .bool(let value) = node.content else {
            object.errors.reportKind(of: node, "'in_conflict' must be true or false", remedy: "write one of them")
            return false
        }
        return value
    }

    private static func now(_ object: SourceObject) -> Int? {
        guard let node = object.node("now") else { return nil }
        let seconds: Int? =
            switch node.content {
            case .string(let text), .number(let text): PointInTime.seconds(text)
            default: nil
            }
        if seconds == nil {
            object.errors.report(at: node.position, "'now' must be a time such as 2026-11-20T10:00:00Z; correct it")
        }
        return seconds
    }
}

/// The expected result of a decision. Omitted members may have any value.
struct RuleExpectation: Sendable {
    /// The expectation for an attachment that the rules add.
    struct File: Sendable {
        var sha256: String?
        /// The URL of the download.
        var url: String?
        var contentType: String?
        var length: Int?
    }

    var fired: [String]?
    var document: JSONText?
    var patch: JSONText?
    /// All added attachments, by name, including those of blobs.
    var attachments: [ExactString: File]?
    /// Blobs whose members must agree with their attachments.
    var blobs: [BlobPlace] = []
    var isDeleted: Bool?
    var effects: JSONText?
    /// All documents that a mapping produces, in order.
    var documents: JSONText?
    /// A part of the error's description. Empty: any error.
    var error: String?
}

extension RuleExpectation {
    private static let keys = [
        "fired", "document", "documents", "patch", "attachments", "blobs", "deleted", "effects", "error",
    ]
    /// Where these keys belong.
    fileprivate static let places = Dictionary(
        uniqueKeysWithValues: keys.map { ($0, "write it in 'expect', indented further, or in its braces") })

    /// What a test expects of actions that change the document.
    private static let results = Dictionary(
        uniqueKeysWithValues: ActionRegistry.names.map {
            ($0, "expect its result: patch, document, attachments or effects")
        })

    /// Nil, with errors, if the node is not an expectation.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "'expect'", known: Self.keys, places: Self.results, errors: errors)
        else { return nil }
        if case .object(let members) = node.content, members.isEmpty {
            errors.report(
                at: node.position, "'expect' is empty, so the test checks nothing; say what is expected: { fired: [] }")
        }
        fired = object.node("fired").flatMap { Self.names($0, "fired", reading) }
        document = Self.value(object, "document", "an object") { if case .object = $0 { true } else { false } }
        patch = Self.value(object, "patch", "a list (a JSON Patch)") { if case .list = $0 { true } else { false } }
        effects = Self.value(object, "effects", "a list of objects") { if case .list = $0 { true } else { false } }
        documents = Self.value(object, "documents", "a list of objects") { if case .list = $0 { true } else { false } }
        if case .list(let elements)? = object.node("effects")?.content {
            for rule in elements.compactMap({ $0.member("rule") }) { Self.checkRule(rule, reading) }
        }
        if let node = object.node("documents"), reading.kind != .mapping {
            errors.report(at: node.position, "'documents' is for mappings only; use 'document' or 'effects'")
        }
        attachments = object.node("attachments").flatMap { Self.attachments($0, reading) }
        if let node = object.node("blobs") { readBlobs(node, reading) }
        if let node = object.node("deleted") {
            if case .bool(let value) = node.content {
                isDeleted = value
            } else {
                errors.reportKind(of: node, "'deleted' must be true or false", remedy: "write one of them")
            }
        }
        if let node = object.node("error") {
            switch node.content {
            case .string(let text): error = text
            case .bool(true): error = ""
            default:
                errors.report(at: node.position, "'error' must be part of the message, or true for any; correct it")
            }
        }
    }

    private static func value(
        _ object: SourceObject, _ name: String, _ demand: String, _ fits: (SourceNode.Content) -> Bool
    ) -> JSONText? {
        guard let node = object.node(name) else { return nil }
        guard fits(node.content) else {
            object.errors.reportKind(of: node, "'\(name)' must be \(demand)", remedy: "correct it")
            return nil
        }
        return node.jsonText
    }

    /// The names of rules, in a list.
    fileprivate static func names(_ node: SourceNode, _ key: String, _ reading: RuleReading) -> [String]? {
        guard case .list(let elements) = node.content, elements.allSatisfy({ $0.text != nil }) else {
            let remedy = node.text.map { "write \(key): [\(DisplayText.plain($0))]" } ?? "write \(key): [] for none"
            reading.errors.report(at: node.position, "'\(key)' must be a list of rule names; \(remedy)")
            return nil
        }
        for element in elements { checkRule(element, reading) }
        return elements.compactMap(\.text)
    }

    /// Reports the name of a rule that the file does not have.
    private static func checkRule(_ node: SourceNode, _ reading: RuleReading) {
        guard let name = node.text, let known = reading.ruleNames, !known.contains(name) else { return }
        reading.errors.report(
            at: node.position,
            "there is no rule '\(DisplayText.plain(name))' in this file"
                + NearestName.advice(NearestName.ofOwn(name, among: known), among: known, as: "rules", isWhole: false))
    }

    private mutating func readBlobs(_ node: SourceNode, _ reading: RuleReading) {
        guard case .object(let members) = node.content else {
            return reading.errors.report(
                at: node.position, "'blobs' must be an object with the expected attachment for each member; correct it")
        }
        for member in members {
            do throws(BlobPlaceError) {
                let place = try BlobPlace(member.name, reading.kind)
                blobs.append(place)
                attachments = attachments ?? [:]
                attachments?[ExactString(place.attachmentName)] = File(member.value, reading)
            } catch {
                reading.errors.report(at: member.position, error.reason)
            }
        }
    }

    private static func attachments(_ node: SourceNode, _ reading: RuleReading) -> [ExactString: File]? {
        guard case .object(let members) = node.content else {
            reading.errors.report(
                at: node.position,
                "'attachments' must be an object with the expected attachment for each name; "
                    + "correct it")
            return nil
        }
        return Dictionary(members.map { (ExactString($0.name), File($0.value, reading)) }) { first, _ in first }
    }
}

extension RuleExpectation.File {
    init(_ node: SourceNode, _ reading: RuleReading) {
        guard
            let object = SourceObject(
                node, "an expected attachment", known: ["file", "url", "content_type", "length", "sha256"],
                errors: reading.errors)
        else { return }
        contentType = object.optionalText("content_type")
        sha256 = object.optionalText("sha256")
        url = object.optionalText("url")
        if let node = object.node("length") {
            if case .number(let text) = node.content, let value = Int(text) {
                length = value
            } else {
                reading.errors.report(at: node.position, "'length' must be a number of bytes; correct it")
            }
        }
        guard let file = object.optionalText("file"), let node = object.node("file") else { return }
        do throws(FileError) { sha256 = try reading.files.content(file, isAttached: false).sha256 } catch {
            reading.errors.report(at: node.position, error.description)
        }
    }
}
