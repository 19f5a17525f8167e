internal import Encodings
internal import LosslessJSON

/// Identifies the value of a member. Equal values have equal digests: the order of members, white space and escapes do
/// not matter, and 1 equals 1.0. Two different values have the same digest with a probability of 2^-64.
struct MemberDigest: Sendable, Hashable {
    let bits: UInt64

    /// The digest of a missing member.
    static let missing = MemberDigest(bits: 0)

    /// - Parameter areAttachments: Whether the value is `_attachments`, or a part of it.
    init(_ value: JSONValue, areAttachments: Bool = false) {
        var content: [UInt8] = []
        Self.append(value, areAttachments, to: &content)
        bits = Self.first(Digest.sha256(content))
    }

    init(bits: UInt64) { self.bits = bits }

    /// The digest of a text.
    static func of(_ text: String) -> UInt64 { first(Digest.sha256(Array(text.utf8))) }

    private static func first(_ digest: [UInt8]) -> UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// Appends a value in canonical form. Recurses as deep as a document may be nested.
    private static func append(_ value: JSONValue, _ areAttachments: Bool, to content: inout [UInt8]) {
        switch value.kind {
        case .null, .true, .false: content += value.bytes
        // The comma ends it: otherwise [1,23] would look like [12,3].
        case .number: content += number(value) + [UInt8(ascii: ",")]
        case .string: append(value.characters, to: &content)
        case .array:
            content.append(UInt8(ascii: "["))
            for element in value.elements { append(element, areAttachments, to: &content) }
            content.append(UInt8(ascii: "]"))
        case .object:
            content.append(UInt8(ascii: "{"))
            let members = value.members.map { (name: $0.name.characters, value: $0.value) }
            for member in members.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) })
            where !areAttachments || !isOmitted(member.name) {
                append(member.name, to: &content)
                append(member.value, areAttachments, to: &content)
            }
            content.append(UInt8(ascii: "}"))
        }
    }

    private static let revisionPosition = Array("revpos".utf8)

    /// The revision in which an attachment was added is not part of its content.
    private static func isOmitted(_ name: ArraySlice<UInt8>) -> Bool { name.elementsEqual(revisionPosition) }

    /// Appends a string, preceded by its length.
    private static func append(_ text: ArraySlice<UInt8>, to content: inout [UInt8]) {
        content.append(UInt8(ascii: "\""))
        withUnsafeBytes(of: UInt64(text.count)) { content.append(contentsOf: $0) }
        content.append(contentsOf: text)
    }

    /// The canonical form of a number. 1, 1.0 and 1e0 have the same.
    private static func number(_ value: JSONValue) -> [UInt8] {
        let text = String(decoding: value.bytes, as: UTF8.self)
        if text == "-0" { return [UInt8(ascii: "0")] }
        guard text.contains(where: { ".eE".contains($0) }), let double = Double(text), double.isFinite else {
            return Array(text.utf8)
        }
        if let whole = Int(exactly: double), whole.magnitude < 1 << 53 { return Array(String(whole).utf8) }
        return Array(String(double).utf8)
    }
}
