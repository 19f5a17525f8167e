internal import LosslessJSON
internal import Rules

/// Counts of the documents that were read, before they are written.
package struct InputCounts: Sendable, Equatable {
    /// Documents of the input, broken ones included.
    package var documents = 0
    /// Documents on which a rule of the mapping fired or failed. Without a mapping: those that the selector matches.
    package var matched = 0
    /// How often each rule of the mapping fired, by its name.
    package var rules: [String: Int] = [:]

    /// All zero.
    package init() {}

    /// The counts of one document.
    ///
    /// - Parameters:
    ///   - mapped: The result of the mapping; nil if there is none.
    ///   - isLetThrough: Whether there is something to write or to reject.
    init(_ mapped: MappingResult?, isLetThrough: Bool) {
        documents = 1
        guard let mapped else {
            matched = isLetThrough ? 1 : 0
            return
        }
        matched = mapped.fired.isEmpty && mapped.error?.rule == nil ? 0 : 1
        for rule in mapped.fired { rules[rule, default: 0] += 1 }
    }

    static func += (left: inout InputCounts, right: InputCounts) {
        left.documents += right.documents
        left.matched += right.matched
        left.rules.merge(right.rules) { $0 + $1 }
    }
}

extension InputCounts {
    func write(to writer: inout JSONWriter) {
        writer.member("documents", integer: documents)
        writer.member("matched", integer: matched)
        writer.name("rules")
        writer.object { writer in
            for rule in rules.keys.sorted() { writer.member(rule, integer: rules[rule] ?? 0) }
        }
    }

    /// Nil if this is not valid. Files of earlier versions only have `documents`.
    init?(_ value: JSONValue) {
        guard let documents = value["documents"]?.count else { return nil }
        self.documents = documents
        matched = value["matched"]?.count ?? 0
        guard let fired = value["rules"] else { return }
        for member in fired.members {
            guard let rule = member.name.string, let count = member.value.count else { return nil }
            rules[rule] = count
        }
    }
}
