/// A place in the changes feed.
///
/// `SEQUENCE`, or `TRIGGER:SEQUENCE` for an older change that a user sees because a channel was granted at the sequence
/// `TRIGGER`. All of these come before the change `TRIGGER` itself.
struct FeedPosition: Sendable, Hashable, Comparable {
    /// The sequence of the grant. Nil for a plain position.
    let trigger: Int?
    let sequence: Int

    static let start = FeedPosition(0)

    init(_ sequence: Int, trigger: Int? = nil) {
        self.trigger = trigger
        self.sequence = sequence
    }

    /// Changes above this sequence are due, apart from grants.
    var plainSequence: Int { trigger.map { max(0, $0 - 1) } ?? sequence }

    static func < (left: FeedPosition, right: FeedPosition) -> Bool { left.order < right.order }

    private var order: (Int, Int, Int) { (trigger ?? sequence, trigger == nil ? 1 : 0, sequence) }

    /// `16`, `29:13`.
    var text: String { trigger.map { "\($0):\(sequence)" } ?? String(sequence) }

    /// As in a row: a number, or a string if it has a trigger.
    var json: String { trigger == nil ? text : "\"\(text)\"" }

    /// Accepts `16`, `"16"`, `29:13`, `10::14`, `10:29:13` and the empty string.
    ///
    /// A `LOW` before two colons or before a trigger means that a change above it was still missing. This gateway skips
    /// no sequences and so never sends such a position. But it starts there, so that nothing is lost.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    init(_ given: String) throws(RequestError) {
        let text = Self.unquoted(given)
        guard !text.isEmpty else {
            self = .start
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 3, let first = Self.number(parts[0]) else {
            throw RequestError(400, "Invalid sequence: \"\(given)\"")
        }
        var rest: [Int?] = []
        for part in parts.dropFirst() {
            let isOmitted = part.isEmpty && rest.isEmpty && parts.count == 3
            guard let number = Self.number(part) ?? (isOmitted ? 0 : nil) else {
                throw RequestError(500, "Internal error: strconv.ParseUint: parsing \"\(part)\": invalid syntax")
            }
            rest.append(isOmitted ? nil : number)
        }
        self.init(first, rest)
    }

    private init(_ first: Int, _ rest: [Int?]) {
        switch (rest.count, rest.first ?? nil, rest.last ?? nil) {
        case (1, _, let sequence?): self.init(sequence, trigger: first)
        case (2, let trigger?, let sequence?):
            if first < trigger { self.init(first) } else { self.init(sequence, trigger: trigger) }
        case (2, nil, let sequence?): self.init(min(first, sequence))
        default: self.init(first)
        }
    }

    /// - Note: Source: Go's `strconv.ParseUint`, which refuses signs. No sequence exceeds `Int.max`.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.first == UInt8(ascii: "+") ? nil : UInt64(text).map { Int(clamping: $0) }
    }

    static func unquoted(_ text: String) -> String {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}
