import HTTPTransport
import LosslessJSON

/// A complete answer.
struct Reply: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let bytes: [UInt8]
    /// The body, if it is JSON.
    let json: JSONValue?

    init(_ response: HTTPResponse) async throws {
        status = response.status
        headers = response.headers
        bytes = try await response.body.collect(upTo: 64 << 20)
        json = try? JSONText(bytes, limits: JSONLimits(depth: JSONLimits.documents.depth + 4)).root
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    var outcome: Outcome { Outcome(status: status, error: self["error"]?.string, reason: self["reason"]?.string) }

    /// A member of the body; nil if there is none, or the body is not a JSON object.
    subscript(name: String) -> JSONValue? { json?[name] }

    /// The elements of the member `name`, or of the body itself.
    func elements(_ name: String? = nil) -> [JSONValue] {
        guard let list = name.map({ json?[$0] }) ?? json else { return [] }
        return Array(list.elements)
    }

    var contentType: String { headers["Content-Type"] ?? "" }
}

/// The outcome of a request, or of a part of it, for comparisons.
struct Outcome: Equatable, Sendable {
    var status: Int
    /// The gateway's error name.
    var error: String?
    /// The server's message. Nil if the message does not matter.
    var reason: String?

    /// The outcome of a success.
    static func done(_ status: Int) -> Outcome { Outcome(status: status) }

    static func refused(_ status: Int, _ error: String, _ reason: String? = nil) -> Outcome {
        Outcome(status: status, error: error, reason: reason)
    }

    /// Whether the outcomes are equal, ignoring the reason if `expected` has none.
    func fits(_ expected: Outcome) -> Bool {
        status == expected.status && error == expected.error && (expected.reason == nil || reason == expected.reason)
    }
}

extension Outcome: CustomStringConvertible {
    var description: String { [String(status), error, reason].compactMap(\.self).joined(separator: " ") }
}

extension Outcome {
    /// The outcome in a row of `_bulk_docs`. The status is 0 if there is none, as on CouchDB.
    init(row: JSONValue) {
        let error = row["error"]?.string
        self.init(
            status: row["status"]?.integer ?? (error == nil ? 201 : 0), error: error, reason: row["reason"]?.string)
    }
}
