package import LosslessJSON

/// A value of a document that does not fit its property.
package struct Misfit: Error, Equatable, Sendable {
    /// `taskList.id`, `items[2].name`; empty for the whole document.
    package let path: String
    /// For people: `a whole number`.
    package let expected: String
    /// What kind of value is there: `text`, `nothing`.
    package let found: String
    /// The value itself as JSON, cut after 200 bytes; nil if there is none. May be private.
    package let value: String?

    private static let longestValue = 200

    /// - Parameters:
    ///   - document: Where to look for the value.
    ///   - path: To the value.
    package init(in document: JSONValue, at path: [any CodingKey], expected: String) {
        let value = DocumentPlace(document: document, path: path).value
        self.path = path.text
        self.expected = expected
        found = value?.kind.noun ?? "nothing"
        self.value = value.map { value in
            let isLong = value.bytes.count > Self.longestValue
            return String(decoding: value.bytes.prefix(Self.longestValue), as: UTF8.self) + (isLong ? "…" : "")
        }
    }

    /// From what a decoder or a type's own `init(from:)` throws.
    init(_ error: any Error, in document: JSONValue) {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            // The message of a synthesized initialiser repeats the name.
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

extension Misfit: CustomStringConvertible {
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

    /// The message of an error of this target, which says what was expected.
    init(_ path: [any CodingKey], expected: String) {
        self.init(codingPath: path, debugDescription: Self.mark + expected)
    }

    /// Nil if the error is not of this target.
    fileprivate var expectation: String? {
        debugDescription.hasPrefix(Self.mark) ? String(debugDescription.dropFirst(Self.mark.count)) : nil
    }

    /// From the message of an enumeration, which repeats the value: `Cannot initialize Kind from invalid String value x`.
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
