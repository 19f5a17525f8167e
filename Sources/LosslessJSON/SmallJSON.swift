internal import CJSONC

/// A small JSON answer, parsed by json-c and copied: server greetings, errors, rows of `_bulk_docs`.
///
/// Never used for documents: json-c clamps integers beyond 64 bits and cuts names at `\u0000`. The scanner first
/// refuses other input that violates RFC 8259 but that json-c accepts (`NaN`, `'name'`, `5.`, raw control characters).
public indirect enum SmallJSON: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number's text.
    case number(String)
    case string(String)
    case array([SmallJSON])
    case object([String: SmallJSON])

    /// json-c recurses when it frees a tree, and counts bytes in 32 bits.
    private static let limits = JSONLimits(depth: 64, length: Int(Int32.max) - 1)

    /// Nil if `bytes` are not one JSON value with only white space around it, or are nested deeper than 64 levels.
    public init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        var tape = JSONTape()
        guard (try? tape.scanDocument(bytes.span, limits: Self.limits)) != nil,
            let tokener = json_tokener_new_ex(Int32(Self.limits.depth) + 2)
        else { return nil }
        defer { json_tokener_free(tokener) }
        json_tokener_set_flags(tokener, Int32(JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8))
        // Without the final NUL, json-c would wait for the rest of a top-level number or literal.
        let terminated = bytes.map { CChar(bitPattern: $0) } + [0]
        let tree = terminated.withUnsafeBufferPointer { buffer in
            json_tokener_parse_ex(tokener, buffer.baseAddress, Int32(buffer.count))
        }
        defer { _ = json_object_put(tree) }
        guard json_tokener_get_error(tokener) == json_tokener_success,
            json_tokener_get_parse_end(tokener) >= bytes.count
        else { return nil }
        self = Self(copying: tree)
    }

    private init(copying node: OpaquePointer?) {
        switch json_object_get_type(node) {
        case json_type_boolean: self = .bool(json_object_get_boolean(node) != 0)
        case json_type_double, json_type_int: self = .number(Self.text(of: node))
        case json_type_string:
            let count = Int(json_object_get_string_len(node))
            let start = UnsafeRawPointer(json_object_get_string(node))
            self = .string(String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self))
        case json_type_array:
            self = .array(
                (0..<json_object_array_length(node)).map { SmallJSON(copying: json_object_array_get_idx(node, $0)) })
        case json_type_object:
            var members: [String: SmallJSON] = [:]
            var iterator = json_object_iter_begin(node)
            var end = json_object_iter_end(node)
            while json_object_iter_equal(&iterator, &end) == 0 {
                let name = String(cString: json_object_iter_peek_name(&iterator))
                members[name] = SmallJSON(copying: json_object_iter_peek_value(&iterator))
                json_object_iter_next(&iterator)
            }
            self = .object(members)
        default: self = .null
        }
    }

    /// json-c prints a double with its source text.
    private static func text(of node: OpaquePointer?) -> String {
        String(cString: json_object_to_json_string_ext(node, JSON_C_TO_STRING_PLAIN))
    }
}

extension SmallJSON {
    /// A member of an object. Nil if there is none or this is not an object.
    public subscript(name: String) -> SmallJSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// Nil if the value is not a string.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// Nil if the value is not a number, has a fraction or exponent, or does not fit into `Int`.
    public var integer: Int? {
        guard case .number(let text) = self else { return nil }
        return Int(text)
    }

    /// Nil if the value is not a boolean.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// Nil if the value is not an array.
    public var elements: [SmallJSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}
