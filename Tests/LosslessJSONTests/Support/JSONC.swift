import CJSONC

/// json-c in its strictest mode, as an oracle.
enum JSONC {
    /// Whether json-c accepts the whole text, at any depth that the stack allows.
    static func acceptsStrictly(_ text: [UInt8]) -> Bool {
        guard let tokener = json_tokener_new_ex(2_000) else { return false }
        defer { json_tokener_free(tokener) }
        json_tokener_set_flags(tokener, Int32(JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8))
        // The final NUL ends a number or a literal at the top level.
        let terminated = text.map { CChar(bitPattern: $0) } + [0]
        let tree = terminated.withUnsafeBufferPointer { buffer in
            json_tokener_parse_ex(tokener, buffer.baseAddress, Int32(buffer.count))
        }
        defer { _ = json_object_put(tree) }
        return json_tokener_get_error(tokener) == json_tokener_success
            && json_tokener_get_parse_end(tokener) >= text.count
    }
}
