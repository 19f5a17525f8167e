internal import LosslessJSON

/// Reads a JSON file into a source tree.
struct JSONSource {
    private let text: JSONText
    private let errors: SourceErrors
    /// The offset up to which positions have been counted. Values are read in the order of the text.
    private var offset = 0
    private var position = SourcePosition.start
    /// Whether everything in the file was read, except for duplicate keys.
    private var isComplete = true

    private init(_ text: JSONText, errors: SourceErrors) {
        self.text = text
        self.errors = errors
    }

    /// Nil, with errors, if the text is not JSON or contains an invalid character. A duplicate key is also an error,
    /// but the rest is read.
    static func read(_ bytes: [UInt8], errors: SourceErrors) -> SourceNode? {
        do throws(JSONError) {
            let text = try JSONText(bytes, limits: .files)
            var source = JSONSource(text, errors: errors)
            let node = source.node(text.root)
            return source.isComplete ? node : nil
        } catch {
            let (line, column) = error.position(in: bytes.span)
            let remedy = JSONMistake.remedy(for: error, in: bytes) ?? "correct it there"
            errors.report(at: SourcePosition(line: line, column: column), "not JSON: \(error); \(remedy)")
            return nil
        }
    }

    /// Recurses as deep as `JSONLimits.files` allows.
    private mutating func node(_ value: JSONValue) -> SourceNode? {
        let position = advance(to: value.range.lowerBound)
        switch value.kind {
        case .null: return SourceNode(content: .null, position: position)
        case .false, .true: return SourceNode(content: .bool(value.kind == .true), position: position)
        case .number:
            return SourceNode(content: .number(String(decoding: value.bytes, as: UTF8.self)), position: position)
        case .string:
            guard let string = string(value, at: position) else { return nil }
            return SourceNode(content: .string(string), position: position)
        case .array:
            var elements: [SourceNode] = []
            for element in value.elements {
                if let element = node(element) { elements.append(element) }
            }
            return SourceNode(content: .list(elements), position: position)
        case .object: return object(value, at: position)
        }
    }

    private mutating func object(_ value: JSONValue, at position: SourcePosition) -> SourceNode? {
        var members: [SourceNode.Member] = []
        var names: Set<ExactString> = []
        for member in value.members {
            let position = advance(to: member.name.range.lowerBound)
            guard let name = string(member.name, at: position) else { continue }
            guard names.insert(ExactString(name)).inserted else {
                errors.report(at: position, "the key '\(name)' appears twice; remove one of the two")
                continue
            }
            guard let value = node(member.value) else { continue }
            members.append(SourceNode.Member(name: name, position: position, value: value))
        }
        return SourceNode(content: .object(members), position: position)
    }

    /// An unpaired surrogate would silently become U+FFFD.
    private mutating func string(_ value: JSONValue, at position: SourcePosition) -> String? {
        guard let string = value.string else { return nil }
        if !value.isText {
            isComplete = false
            errors.report(at: position, "half of a surrogate pair (\\uD800 to \\uDFFF) is not a character; remove it")
            return nil
        }
        return string
    }

    private mutating func advance(to target: Int) -> SourcePosition {
        while offset < target {
            let byte = text.bytes[offset]
            if byte == UInt8(ascii: "\n") {
                position.line += 1
                position.column = 1
            } else if byte & 0xC0 != 0x80 {
                position.column += 1
            }
            offset += 1
        }
        return position
    }
}
