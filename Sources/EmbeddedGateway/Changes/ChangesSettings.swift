internal import LosslessJSON

/// The body of a POST to the changes feed.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1, for members of a wrong type:
///   `Invalid JSON: "json: cannot unmarshal array into Go struct field .channels of type string"`.
struct ChangesSettings {
    private enum GoType: String {
        case string, bool, int, uint64
        case strings = "[]string"
    }

    private static let types: [String: GoType] = [
        "feed": .string, "limit": .int, "style": .string, "include_docs": .bool, "filter": .string,
        "channels": .string, "doc_ids": .strings, "heartbeat": .uint64, "timeout": .uint64, "active_only": .bool,
        "version_type": .string,
    ]

    private let root: JSONValue

    subscript(name: String) -> JSONValue? {
        root[name].flatMap { $0.kind == .null ? nil : $0 }
    }

    /// - Throws: ``RequestError`` 400.
    init(_ body: [UInt8]) throws(RequestError) {
        do { root = try JSONText(body).root } catch {
            throw RequestError(400, "Invalid JSON: \"\(GoJSON.unmarshalError(error))\"")
        }
        guard root.kind == .object || root.kind == .null else {
            throw Self.error("\(GoJSON.name(of: root)) into Go value of type struct")
        }
    }

    /// Checks the type of each member. Parse `since` first, because its error takes precedence.
    ///
    /// - Throws: ``RequestError`` 400.
    func checkTypes() throws(RequestError) {
        for member in root.members where member.value.kind != .null {
            guard let name = member.name.string, let type = Self.types[name] else { continue }
            try Self.check(member.value, name, type)
        }
    }

    private static func check(_ value: JSONValue, _ name: String, _ type: GoType) throws(RequestError) {
        switch (type, value.kind) {
        case (.string, .string), (.bool, .true), (.bool, .false): return
        case (.strings, .array):
            for element in value.elements where element.kind != .null { try check(element, name, .string) }
        case (.int, .number), (.uint64, .number):
            let number = value.integer
            guard let number, type == .int || number >= 0 else {
                throw error("number \(value.text(most: 100)) into Go struct field .\(name) of type \(type.rawValue)")
            }
        default: throw error("\(GoJSON.name(of: value)) into Go struct field .\(name) of type \(type.rawValue)")
        }
    }

    private static func error(_ problem: String) -> RequestError {
        RequestError(400, "Invalid JSON: \"json: cannot unmarshal \(problem)\"")
    }
}

extension JSONValue {
    /// The first `count` bytes of its JSON.
    fileprivate func text(most count: Int) -> String { String(decoding: bytes.prefix(count), as: UTF8.self) }
}
