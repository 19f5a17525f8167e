import HTTPTransport
import LosslessJSON

/// An answer that has come to its end.
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

    /// A member of the body; nil if there is none, or the body is no JSON object.
    subscript(name: String) -> JSONValue? { json?[name] }

    /// The elements of the member `name`, or of the body itself.
    func elements(_ name: String? = nil) -> [JSONValue] {
        guard let list = name.map({ json?[$0] }) ?? json else { return [] }
        return Array(list.elements)
    }

    var contentType: String { headers["Content-Type"] ?? "" }
}

/// How a request, or a part of it, went: what a case compares.
struct Outcome: Equatable, Sendable {
    var status: Int
    /// The gateway's own name for what went wrong.
    var error: String?
    /// The server's own text. Nil where the text does not matter.
    var reason: String?

    /// A success.
    static func done(_ status: Int) -> Outcome { Outcome(status: status) }

    static func refused(_ status: Int, _ error: String, _ reason: String? = nil) -> Outcome {
        Outcome(status: status, error: error, reason: reason)
    }

    /// Equal, but for a reason where this one has none.
    func fits(_ expected: Outcome) -> Bool {
        status == expected.status && error == expected.error && (expected.reason == nil || reason == expected.reason)
    }
}

extension Outcome: CustomStringConvertible {
    var description: String { [String(status), error, reason].compactMap(\.self).joined(separator: " ") }
}

extension Outcome {
    /// What a row of `_bulk_docs` says. Without a status, as CouchDB has it, it is 0.
    init(row: JSONValue) {
        let error = row["error"]?.string
        self.init(
            status: row["status"]?.integer ?? (error == nil ? 201 : 0), error: error, reason: row["reason"]?.string)
    }
}
