internal import LosslessJSON

/// A position in a file. Both numbers count from 1; columns are Unicode scalars.
package struct SourcePosition: Hashable, Sendable {
    /// From 1.
    package var line: Int
    /// From 1, in Unicode scalars.
    package var column: Int

    package static let start = SourcePosition(line: 1, column: 1)

    package init(line: Int, column: Int) { (self.line, self.column) = (line, column) }
}

/// A value of a YAML or JSON file, with its position.
package struct SourceNode: Sendable {
    /// A JSON value.
    package enum Content: Sendable {
        case null
        case bool(Bool)
        /// The number as JSON, with the digits of the file.
        case number(String)
        case string(String)
        case list([SourceNode])
        case object([Member])
    }

    /// Names are unique within an object.
    package struct Member: Sendable {
        package let name: String
        package let position: SourcePosition
        package let value: SourceNode
        /// Whether the name is an unquoted YAML scalar.
        var isPlain = false
    }

    package let content: Content
    package let position: SourcePosition
    /// Whether it is an unquoted YAML scalar.
    var isPlain = false

    var isNull: Bool { if case .null = content { true } else { false } }

    /// The kind of value, for messages.
    package var kindName: String {
        switch content {
        case .null: "nothing (null)"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "text"
        case .list: "a list"
        case .object: "an object"
        }
    }
}

extension SourceNode {
    /// The deepest nesting of a file.
    static let depthLimit = JSONLimits.files.depth
    /// The maximum number of values of a file, after alias expansion.
    static let countLimit = 200_000

    /// The value as JSON: members in the file's order, numbers with the file's digits.
    var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// The value as a checked JSON text.
    var jsonText: JSONText {
        do {
            return try JSONText(json)
        } catch {
            preconditionFailure("a source tree wrote invalid JSON: \(error)")
        }
    }

    private func write(to writer: inout JSONWriter) {
        switch content {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .number(let text): writer.raw(text.utf8)
        case .string(let value): writer.string(value)
        case .list(let elements): writer.array { writer in for element in elements { element.write(to: &writer) } }
        case .object(let members):
            writer.object { writer in
                for member in members {
                    writer.name(member.name)
                    member.value.write(to: &writer)
                }
            }
        }
    }
}
