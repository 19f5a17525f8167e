package import GatewayClient
internal import LosslessJSON
package import Rules

/// What a bot did to a document. It contains names, ids and revisions, and no values of documents.
package struct TraceEntry: Sendable {
    /// The result of a decision about the document.
    package enum Result: String, Sendable {
        case written, deleted, unchanged, resolved
        /// Only other documents were written, or events were sent.
        case otherEffects = "other-effects"
        case deadLettered = "dead-lettered"
    }

    /// Why a document was decided that has not changed.
    package enum Cause: String, Sendable {
        case timer, retry
    }

    /// A webhook that its receiver accepted, or an emitted line.
    package struct Effect: Sendable, Equatable {
        /// `webhook` or `emit`.
        let action: String
        let rule: String
        /// The receiver's scheme, host and port, or the file.
        let receiver: String
        /// The id of the event.
        let event: String

        package init(action: String, rule: String, receiver: String, event: String) {
            (self.action, self.rule, self.receiver, self.event) = (action, rule, receiver, event)
        }
    }

    /// A decision that was carried out.
    package struct Decision: Sendable {
        package var result: Result
        /// The revision that was decided.
        package var revision: RevisionID?
        /// The revision that was written.
        package var newRevision: RevisionID?
        /// The rules that fired.
        package var rules: [String] = []
        package var cause: Cause?
        package var effects: [Effect] = []
        /// The times of the document, if they changed. Empty: it has no times any longer.
        package var times: [RuleTime]?

        package init(_ result: Result, revision: RevisionID?) { (self.result, self.revision) = (result, revision) }
    }

    /// A document that a decision about another document wrote.
    package struct OtherWrite: Sendable {
        package let id: DocumentID
        /// Nil: the followed keyspace.
        package let keyspace: String?
        package let revision: RevisionID
        package let rules: [String]
        package let isDeletion: Bool

        package init(id: DocumentID, keyspace: String?, revision: RevisionID, rules: [String], isDeletion: Bool) {
            (self.id, self.keyspace, self.revision) = (id, keyspace, revision)
            (self.rules, self.isDeletion) = (rules, isDeletion)
        }
    }

    enum Kind: String {
        case decision
        case wroteOther = "wrote-other"
        case writtenByOther = "written-by-other"
        case deadLetter = "dead-letter"
        case deadLettersRemoved = "dead-letters-removed"
    }

    let id: DocumentID
    let kind: Kind
    /// A JSON object.
    let details: [UInt8]

    private init(_ id: DocumentID, _ kind: Kind, _ members: (inout JSONWriter) -> Void) {
        (self.id, self.kind) = (id, kind)
        var writer = JSONWriter()
        writer.object(members)
        details = writer.bytes
    }
}

extension TraceEntry {
    package static func decision(_ id: DocumentID, _ decision: Decision) -> Self {
        Self(id, .decision) { writer in
            writer.member("result", string: decision.result.rawValue)
            if let revision = decision.revision { writer.member("revision", string: revision.text) }
            if let revision = decision.newRevision { writer.member("new_revision", string: revision.text) }
            if let cause = decision.cause { writer.member("cause", string: cause.rawValue) }
            writer.write(rules: decision.rules)
            writer.write("events", decision.effects) { effect, writer in
                writer.member("action", string: effect.action)
                writer.member("rule", string: effect.rule)
                writer.member("to", string: effect.receiver)
                writer.member("event", string: effect.event)
            }
            guard let times = decision.times else { return }
            writer.write("timers", times, omitsEmpty: false) { time, writer in
                writer.member("rule", string: time.rule)
                writer.member("at", integer: time.due)
                writer.member("fired", bool: time.hasFired)
            }
        }
    }

    /// The most documents that an entry names as causes of one write.
    private static let causeLimit = 20

    /// The entries of a document that was written because of others, and of these others.
    ///
    /// - Parameter causes: The documents whose decisions wrote it. A total has none.
    package static func entries(of write: OtherWrite, causes: [DocumentID]) -> [Self] {
        let members = { (writer: inout JSONWriter) in
            writer.member("new_revision", string: write.revision.text)
            if write.isDeletion { writer.member("deleted", bool: true) }
            writer.write(rules: write.rules)
        }
        let others = causes.filter { write.keyspace != nil || $0 != write.id }
        let ofCauses = others.map { cause in
            Self(cause, .wroteOther) { writer in
                writer.member("document", string: write.id.text)
                if let keyspace = write.keyspace { writer.member("keyspace", string: keyspace) }
                members(&writer)
            }
        }
        // The trace is about the documents of one keyspace.
        guard write.keyspace == nil else { return ofCauses }
        let own = Self(write.id, .writtenByOther) { writer in
            members(&writer)
            guard !others.isEmpty else { return }
            writer.name("because_of")
            writer.array { writer in for cause in others.prefix(causeLimit) { writer.string(cause.text) } }
            if others.count > causeLimit { writer.member("more", integer: others.count - causeLimit) }
        }
        return ofCauses + [own]
    }

    static func entries(of deadLetters: [DeadLetter], _ numbers: [Int]) -> [Self] {
        zip(deadLetters, numbers).map { .deadLetter($0, number: $1) }
    }

    /// - Parameter number: Its number in the state, which also has the reason.
    private static func deadLetter(_ deadLetter: DeadLetter, number: Int) -> Self {
        Self(deadLetter.id, .deadLetter) { writer in
            writer.member("number", integer: number)
            if let revision = deadLetter.revision { writer.member("revision", string: revision.text) }
            if let rule = deadLetter.rule { writer.member("rule", string: rule) }
        }
    }

    /// Obsolete dead letters of the document were removed.
    static func deadLettersRemoved(_ id: DocumentID, count: Int) -> Self {
        Self(id, .deadLettersRemoved) { $0.member("count", integer: count) }
    }
}

extension JSONWriter {
    fileprivate mutating func write(rules: [String]) {
        guard !rules.isEmpty else { return }
        name("rules")
        array { writer in for rule in rules { writer.string(rule) } }
    }

    fileprivate mutating func write<Element>(
        _ name: String, _ elements: [Element], omitsEmpty: Bool = true,
        _ members: (Element, inout JSONWriter) -> Void
    ) {
        if omitsEmpty, elements.isEmpty { return }
        self.name(name)
        array { writer in for element in elements { writer.object { members(element, &$0) } } }
    }
}
