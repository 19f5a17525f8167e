internal import LosslessJSON

/// Messages for the editor, as JSON without their headers.
enum ServerMessage {
    static func result(_ id: [UInt8], _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        message { writer in
            writer.member("id", raw: id)
            writer.name("result")
            write(&writer)
        }
    }

    static func error(_ id: [UInt8], _ code: ClientMessage.ErrorCode, _ text: String) -> [UInt8] {
        message { writer in
            writer.member("id", raw: id)
            writer.name("error")
            writer.object { writer in
                writer.member("code", integer: code.rawValue)
                writer.member("message", string: text)
            }
        }
    }

    static func notification(_ method: String, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        message { writer in
            writer.member("method", string: method)
            writer.name("params")
            writer.object(write)
        }
    }

    /// The numbers of the protocol's `MessageType`.
    enum MessageKind: Int {
        case error = 1
        case information = 3
    }

    /// A message that the editor shows to the user.
    static func show(_ kind: MessageKind, _ text: String) -> [UInt8] {
        notification("window/showMessage") { writer in
            writer.member("type", integer: kind.rawValue)
            writer.member("message", string: text)
        }
    }

    /// A message for the editor's log.
    static func log(_ kind: MessageKind, _ text: String) -> [UInt8] {
        notification("window/logMessage") { writer in
            writer.member("type", integer: kind.rawValue)
            writer.member("message", string: text)
        }
    }

    private static func message(_ content: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("jsonrpc", string: "2.0")
            content(&writer)
        }
        return writer.bytes
    }
}
