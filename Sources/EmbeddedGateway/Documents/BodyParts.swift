/// The content of an attachment, still in the store.
struct StoredContent: Equatable {
    let digest: String
    /// Bytes.
    let length: Int
}

/// A body, or a section of one, in which contents of attachments stand that are read when they are sent.
struct BodyParts: Sendable {
    enum Form {
        case raw
        case base64

        /// Bytes that this many bytes of a content become.
        func length(of count: Int) -> Int { self == .raw ? count : (count + 2) / 3 * 4 }
    }

    enum Part {
        case bytes([UInt8])
        case content(StoredContent, Form)
    }

    /// Stands for a content in the text of a document: JSON has no bare control characters.
    static let placeholder: UInt8 = 0
    /// Bytes up to this length are joined; longer ones are not copied.
    private static let joinedLimit = 64 << 10

    private(set) var parts: [Part] = []
    /// Bytes, with those of the contents in their form.
    private(set) var length = 0
    /// Bytes in memory.
    private(set) var loadedLength = 0

    init() {}

    init(_ bytes: [UInt8]) { append(bytes) }

    /// A text that has a ``placeholder`` for each of the contents, in their order.
    init(_ text: [UInt8], base64 contents: [StoredContent]) {
        guard !contents.isEmpty else {
            append(text)
            return
        }
        var rest = text[...]
        for content in contents {
            let end = rest.firstIndex(of: Self.placeholder) ?? rest.endIndex
            append(Array(rest[..<end]))
            append(content, as: .base64)
            rest = rest[end...].dropFirst()
        }
        append(Array(rest))
    }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        length += bytes.count
        loadedLength += bytes.count
        if case .bytes(var last)? = parts.last, last.count + bytes.count <= Self.joinedLimit {
            parts.removeLast()
            last += bytes
            parts.append(.bytes(last))
        } else {
            parts.append(.bytes(bytes))
        }
    }

    mutating func append(_ text: String) { append(Array(text.utf8)) }

    mutating func append(_ content: StoredContent, as form: Form) {
        guard content.length > 0 else { return }
        length += form.length(of: content.length)
        parts.append(.content(content, form))
    }

    mutating func append(_ other: BodyParts) {
        for part in other.parts {
            switch part {
            case .bytes(let bytes): append(bytes)
            case .content(let content, let form): append(content, as: form)
            }
        }
    }
}
