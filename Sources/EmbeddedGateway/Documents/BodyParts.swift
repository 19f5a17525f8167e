/// The content of an attachment, still in the store.
struct StoredContent: Equatable {
    let digest: String
    /// In bytes.
    let length: Int
}

/// A body, or part of a body, that refers to attachment contents. They are read only when they are sent.
struct BodyParts: Sendable {
    enum Form {
        case raw
        case base64

        /// The length in this form of `count` bytes of content.
        func length(of count: Int) -> Int { self == .raw ? count : (count + 2) / 3 * 4 }
    }

    enum Part {
        case bytes([UInt8])
        case content(StoredContent, Form)
    }

    /// Marks the position of a content in the text of a document. Valid JSON contains no bare control characters.
    static let placeholder: UInt8 = 0
    /// Parts up to this length are joined. Longer ones are not copied.
    private static let joinedLimit = 64 << 10

    private(set) var parts: [Part] = []
    /// Length in bytes, including the contents in their encoded form.
    private(set) var length = 0
    /// The number of bytes in memory.
    private(set) var loadedLength = 0

    init() {}

    init(_ bytes: [UInt8]) { append(bytes) }

    /// - Parameter text: Contains one ``placeholder`` for each of the contents, in order.
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
