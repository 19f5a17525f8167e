public import LosslessJSON

/// A position in a changes feed: opaque, kept and sent back as the JSON received. Equal only if the JSON text is: `5`
/// and `"5"` differ.
///
/// Known forms are `5`, `"5"`, `"2:5"`, `"1::5"` (Sync Gateway) and `"7-g1AAAA…"` (CouchDB). Not `Comparable`: the
/// order of changes is the order of their arrival.
public struct SequenceID: Hashable, Sendable {
    /// JSON text: a number, a string, or a list (BigCouch's `last_seq`).
    public let json: [UInt8]

    /// Before the first change; both servers accept it.
    public static let start = SequenceID(unchecked: Array("0".utf8))

    /// - Returns: Nil if `value` is not a number, string or list: no gateway sends such a sequence.
    public init?(_ value: JSONValue) {
        switch value.kind {
        case .number, .string, .array: json = Array(value.bytes)
        default: return nil
        }
    }

    /// From user input or a file: JSON is kept unchanged, anything else becomes a string. Nil for an empty text.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        if let json = try? JSONText(text, limits: .files), let sequence = SequenceID(json.root) {
            self = sequence
        } else {
            var json: [UInt8] = []
            json.appendJSONString(text.utf8)
            self.init(unchecked: json)
        }
    }

    init(unchecked json: [UInt8]) { self.json = json }

    /// A string without its quotes, or a number as it is: the value of `since` in a query, and the form for messages.
    public var queryValue: String {
        guard json.first == UInt8(ascii: "\""), let text = try? JSONText(json) else {
            return String(decoding: json, as: UTF8.self)
        }
        return text.root.string ?? ""
    }
}

extension SequenceID: CustomStringConvertible {
    /// The JSON text: a string keeps its quotes. See ``queryValue``.
    public var description: String { String(decoding: json, as: UTF8.self) }
}

// MARK: - The only code that compares sequences

extension SequenceID {
    /// The number by which Sync Gateway orders its changes; nil for CouchDB's sequences and unknown forms.
    ///
    /// `S`, `T:S` (triggered by T), `L::S` and `L:T:S` (all up to L are seen): the feed is sorted by T, else by S.
    /// Used to find the end of a one-shot run and to notice a reset, never to order changes.
    package var syncGatewayNumber: UInt64? { syncGatewayParts?.order }

    /// The same sequence, as a number if it is a string of digits and `other` is not a string.
    ///
    /// Sync Gateway's rows have numbers, but its `last_seq` is a string: without this, the kind of a run's position
    /// would depend on where the run ends.
    package func spelled(like other: SequenceID) -> SequenceID {
        guard !other.isStringOfDigits, isStringOfDigits, let number = UInt64(queryValue), "\(number)" == queryValue
        else { return self }
        return SequenceID(unchecked: Array(queryValue.utf8))
    }

    private var isStringOfDigits: Bool {
        json.first == UInt8(ascii: "\"") && UInt64(queryValue) != nil
    }

    /// Whether it has the form of a gateway's sequence.
    package var hasKnownForm: Bool { number != nil }

    /// `L::S` and `L:T:S`: some changes between L and S are still to come.
    package var isAheadOfOthers: Bool { syncGatewayParts?.isAheadOfOthers == true }

    /// CouchDB's count of changes before the `-`. It grows along one feed, but is not the same in every answer.
    private var couchDBNumber: UInt64? {
        let text = self.text
        guard let end = text.firstIndex(of: UInt8(ascii: "-")), end + 1 < text.endIndex else { return nil }
        return UInt64(digits: text[..<end])
    }

    /// What orders it among the sequences of its feed; nil for unknown forms.
    private var number: UInt64? { syncGatewayNumber ?? couchDBNumber }

    /// Whether a feed that has returned this sequence has passed `other`. Nil if that can't be determined.
    ///
    /// When a user gains access, older documents come as `T:S`, with the same T for all rows. T itself is passed only
    /// by a later row.
    package func hasPassed(_ other: SequenceID) -> Bool? {
        if let own = syncGatewayParts, let others = other.syncGatewayNumber {
            return own.isBackfill ? own.order > others : own.order >= others
        }
        if let own = couchDBNumber, let others = other.couchDBNumber { return own >= others }
        return self == other ? true : nil
    }

    /// Whether this is more than 10,000 before `other`: too far to be just a late change.
    package func isFarBehind(_ other: SequenceID) -> Bool {
        guard let own = number, let others = other.number else { return false }
        return own < others && others - own > 10_000
    }

    /// How many sequences lie between this one and a newer one; 0 if the other is not newer. Nil if that can't be
    /// determined. An estimate: CouchDB's count depends on the shards that answered.
    package func distance(to newer: SequenceID) -> Int? {
        guard let own = number, let other = newer.number else { return nil }
        return other > own ? Int(clamping: other - own) : 0
    }
}

// MARK: - The forms

extension SequenceID {
    /// What Sync Gateway's sequences say.
    private struct SyncGatewayParts {
        /// T, else S.
        var order: UInt64
        /// `T:S` or `L:T:S`.
        var isBackfill: Bool
        /// `L::S` or `L:T:S`.
        var isAheadOfOthers: Bool
    }

    /// Nil if it does not have a form of Sync Gateway. Allocates nothing, because a feed calls it often.
    private var syncGatewayParts: SyncGatewayParts? {
        let text = self.text
        let colon = UInt8(ascii: ":")
        guard let first = text.firstIndex(of: colon) else {
            return UInt64(digits: text).map { SyncGatewayParts(order: $0, isBackfill: false, isAheadOfOthers: false) }
        }
        let rest = text[(first + 1)...]
        guard let second = rest.firstIndex(of: colon) else {
            return UInt64(digits: text[..<first]).map {
                SyncGatewayParts(order: $0, isBackfill: true, isAheadOfOthers: false)
            }
        }
        let (trigger, last) = (rest[..<second], rest[(second + 1)...])
        guard !last.contains(colon) else { return nil }
        return UInt64(digits: trigger.isEmpty ? last : trigger).map {
            SyncGatewayParts(order: $0, isBackfill: !trigger.isEmpty, isAheadOfOthers: true)
        }
    }

    /// A string without its quotes, or a number as it is. Escapes stay: no known form has any.
    private var text: ArraySlice<UInt8> {
        json.first == UInt8(ascii: "\"") && json.count >= 2 ? json[1..<(json.count - 1)] : json[...]
    }
}

extension UInt64 {
    /// Parses ASCII digits. Nil if there are none, if there are other characters, or if the number is too large.
    fileprivate init?(digits: ArraySlice<UInt8>) {
        guard !digits.isEmpty else { return nil }
        self = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (product, overflows) = multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            guard !overflows, !exceeds else { return nil }
            self = sum
        }
    }
}
