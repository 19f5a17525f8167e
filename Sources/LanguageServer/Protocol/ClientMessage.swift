internal import LosslessJSON

/// A message of the editor.
///
/// - Note: Source: JSON-RPC 2.0; Language Server Protocol 3.17, "Base Protocol".
enum ClientMessage {
    /// - Parameter id: A number or a string, as JSON.
    case request(id: [UInt8], method: String, JSONValue?)
    case notification(method: String, JSONValue?)
    /// The answer to a request. This server sends none.
    case response
    /// - Parameter id: As JSON; null if there is none.
    case invalid(id: [UInt8], ErrorCode, String)

    enum ErrorCode: Int {
        case parseError = -32700
        case invalidRequest = -32600
        case methodNotFound = -32601
        case invalidParams = -32602
        case serverNotInitialized = -32002
        case requestCancelled = -32800
    }

    static let noID = Array("null".utf8)
    /// Deeper than any message of an editor.
    private static let limits = JSONLimits(depth: 512, length: MessageFrames.messageLimit)

    init(_ bytes: [UInt8]) {
        let text: JSONText
        do throws(JSONError) { text = try JSONText(bytes, limits: Self.limits) } catch {
            self = .invalid(id: Self.noID, .parseError, "not JSON: \(error)")
            return
        }
        let root = text.root
        let id = root["id"].flatMap { [.number, .string].contains($0.kind) ? Array($0.bytes) : nil }
        guard root.kind == .object, root["jsonrpc"]?.string == "2.0" else {
            self = .invalid(
                id: id ?? Self.noID, .invalidRequest, "a message must be an object with \"jsonrpc\": \"2.0\"")
            return
        }
        guard let method = root["method"] else {
            self =
                root["result"] != nil || root["error"] != nil
                ? .response : .invalid(id: id ?? Self.noID, .invalidRequest, "'method' is missing")
            return
        }
        guard let method = method.string, root["id"] == nil || id != nil else {
            self = .invalid(
                id: id ?? Self.noID, .invalidRequest, "'method' must be text, and 'id' a number or text")
            return
        }
        let params = root["params"]
        self = id.map { .request(id: $0, method: method, params) } ?? .notification(method: method, params)
    }
}
