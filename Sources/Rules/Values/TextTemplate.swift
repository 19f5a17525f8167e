internal import LosslessJSON

/// A string of a rule file: fixed, or computed for each document.
enum TextTemplate: Sendable {
    case literal(String)
    case computed(Template)

    var programs: [Int] {
        switch self {
        case .literal: []
        case .computed(let template): template.programs
        }
    }

    /// The string, if it does not depend on the document.
    var literal: String? {
        if case .literal(let text) = self { text } else { nil }
    }

    /// The string. Nil if the program has no output, or gives null.
    ///
    /// - Parameters:
    ///   - outputs: For each of ``programs``, its outputs.
    ///   - what: The description of the string, for messages.
    /// - Throws: ``ActionError`` if it is not a string, or empty.
    func text(_ outputs: [[JSONText]], of what: String) throws(ActionError) -> String? {
        switch self {
        case .literal(let text): return text
        case .computed(let template):
            guard let value = try template.value(outputs, of: what) else { return nil }
            guard let text = value.root.string, !text.isEmpty else {
                throw .failed(
                    "\(what) must be text and not empty; the program gives \(value.excerpt)\(value.textRemedy)")
            }
            return text
        }
    }
}

extension JSONText {
    /// The beginning of a computed value, for messages.
    var excerpt: String {
        let limit = 60
        let text = String(decoding: bytes.prefix(limit), as: UTF8.self)
        return bytes.count > limit ? text + "…" : text
    }
}
