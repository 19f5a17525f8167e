package import LosslessJSON

/// A value of a document that does not fit its property.
package struct TypeMismatch: Error, Equatable, Sendable {
    /// `taskList.id`, `items[2].name`; empty for the whole document.
    package let path: String
    /// What is expected, for messages: `a whole number`.
    package let expected: String
    /// The kind of value found: `text`, `nothing`.
    package let found: String
    /// The value itself as JSON, truncated to 200 bytes; nil if there is none. May be private.
    package let value: String?

    private static let maxValueLength = 200

    /// - Parameters:
    ///   - document: The document that contains the value.
    ///   - path: The path to the value.
    package init(in document: JSONValue, at path: [any CodingKey], expected: String) {
        let value = DocumentPlace(document: document, path: path).value
        self.path = path.text
        self.expected = expected
        found = value?.kind.noun ?? "nothing"
        self.value = value.map { value in
            let isLong = value.bytes.count > Self.maxValueLength
            return String(decoding: value.bytes.prefix(Self.maxValueLength), as: UTF8.self) + (isLong ? "…" : "")
        }
    }

    /// Converts an error of a decoder or of a type's own `init(from:)`.
    init(_ error: any Error, in document: JSONValue) {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            // The message of a synthesized initializer repeats the name.
            let expected = context.expectation ?? "a value"
            self.init(in: document, at: context.codingPath + [key], expected: expected)
        case DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
            self.init(in: document, at: context.codingPath, expected: context.expectation ?? context.knownValue)
        case DecodingError.valueNotFound(_, let context):
            self.init(in: document, at: context.codingPath, expected: context.expectation ?? "a value")
        default: self.init(in: document, at: [], expected: "valid for its type (\(error))")
        }
    }
}

extension TypeMismatch: CustomStringConvertible {
    /// `taskList.id must be text, but is a number`. Without the value.
    package var description: String {
        let place = path.isEmpty ? "the document" : path
        return found == "nothing"
            ? "\(place) is missing: it must be \(expected)"
            : "\(place) must be \(expected), but is \(found)"
    }
}

extension DecodingError.Context {
    private static let mark = "expected: "

    /// Creates the message of an error of this target, which states the expectation.
    init(_ path: [any CodingKey], expected: String) {
        self.init(codingPath: path, debugDescription: Self.mark + expected)
    }

    /// Nil if another target made the error.
    fileprivate var expectation: String? {
        debugDescription.hasPrefix(Self.mark) ? String(debugDescription.dropFirst(Self.mark.count)) : nil
    }

    /// From the message of an enumeration, which contains the value: `Cannot initialize Kind from invalid String value
    /// x`.
    fileprivate var knownValue: String {
        let words = debugDescription.split(separator: " ", maxSplits: 3)
        guard words.count == 4, words[0] == "Cannot", words[1] == "initialize" else { return debugDescription }
        return "a known value of \(words[2])"
    }
}

extension [any CodingKey] {
    /// `items[2].name`
    package var text: String {
        reduce(into: "") { text, key in
            if let position = key.intValue {
                text += "[\(position)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

extension JSONKind {
    fileprivate var noun: String {
        switch self {
        case .null: "null"
        case .true: "true"
        case .false: "false"
        case .number: "a number"
        case .string: "text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
