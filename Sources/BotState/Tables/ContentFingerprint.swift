internal import Encodings
package import LosslessJSON

/// Identifies the content of a document. After a change is undone, it is the same as before.
///
/// Ignores `_rev`, `_cv`, the `revpos` of attachments and the order of members.
package struct ContentFingerprint: Hashable, Sendable {
    /// The first half of a SHA-256 digest.
    let words: (high: UInt64, low: UInt64)

    /// - Parameter bytes: The 16 bytes of an earlier fingerprint, or a longer digest, of which only the first 16 are
    ///   used.
    init(bytes: [UInt8]) {
        func word(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        words = (word(bytes.prefix(8)), word(bytes.dropFirst(8).prefix(8)))
    }

    package init(_ document: JSONValue) {
        var content: [UInt8] = []
        content.reserveCapacity(document.bytes.count + 256)
        Part.document.append(document, to: &content)
        self.init(bytes: Digest.sha256(content))
    }

    /// The 16 bytes that ``init(bytes:)`` takes.
    var bytes: [UInt8] {
        [words.high, words.low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }

    /// Equal fingerprints mean equal content, except for a collision of 128 bits.
    package static func == (left: ContentFingerprint, right: ContentFingerprint) -> Bool { left.words == right.words }

    /// Hashes all 128 bits.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.high)
        hasher.combine(words.low)
    }
}

/// The parts of a document whose members are sorted and partly omitted.
private enum Part {
    case document, attachments, attachment

    // As bytes, because they are compared with every name.
    private static let revision = Array("_rev".utf8)[...]
    private static let version = Array("_cv".utf8)[...]
    private static let attachmentList = Array("_attachments".utf8)[...]
    private static let revisionPosition = Array("revpos".utf8)[...]

    private func leavesOut(_ name: ArraySlice<UInt8>) -> Bool {
        switch self {
        case .document: name == Self.revision || name == Self.version
        case .attachments: false
        case .attachment: name == Self.revisionPosition
        }
    }

    /// Nil for members that are used unchanged.
    private func part(_ name: ArraySlice<UInt8>) -> Part? {
        switch self {
        case .document: name == Self.attachmentList ? .attachments : nil
        case .attachments: .attachment
        case .attachment: nil
        }
    }

    /// Appends the members of an object, sorted by the bytes of their names, each with its length in front.
    func append(_ object: JSONValue, to content: inout [UInt8]) {
        guard object.kind == .object else { return Self.append(object.bytes, to: &content) }
        var members: [(name: ArraySlice<UInt8>, value: JSONValue)] = []
        for member in object.members {
            let name = member.name.rawContent
            if !leavesOut(name) { members.append((name, member.value)) }
        }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        for member in members {
            Self.append(member.name, to: &content)
            if let part = part(member.name) {
                // The braces distinguish an object from a string with the same bytes.
                content.append(UInt8(ascii: "{"))
                part.append(member.value, to: &content)
                content.append(UInt8(ascii: "}"))
            } else {
                Self.append(member.value.bytes, to: &content)
            }
        }
    }

    private static func append(_ bytes: ArraySlice<UInt8>, to content: inout [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count)) { content.append(contentsOf: $0) }
        content.append(contentsOf: bytes)
    }
}
