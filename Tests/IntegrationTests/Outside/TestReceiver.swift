import Encodings
import Foundation
import Locking
import LosslessJSON
import TestKit
import Testing

/// A receiver of webhooks whose answers a test scripts, and which records its requests.
final class TestReceiver: Sendable {
    enum Reply: Sendable {
        case answer(Int, headers: [String] = [], body: String = "")
        /// The head of a successful answer, then nothing.
        case hangInBody
        /// No answer.
        case hang
        case close
        /// A successful answer whose body does not end.
        case endless
    }

    let server: TestServer
    private let seen: Monitor<[TestRequest]>
    private let active = Locked((now: 0, most: 0))

    /// - Parameters:
    ///   - gathering: The number of first requests that are answered only once all of them are under way together.
    ///   - reply: Gets the request and the number of earlier ones.
    init(gathering: Int = 0, _ reply: @escaping @Sendable (TestRequest, Int) -> Reply) throws {
        let seen = Monitor<[TestRequest]>([])
        self.seen = seen
        server = try TestServer { [active] connection in
            try connection.serve { request in
                // Count it first: a test that waits until the request is recorded expects it to be under way.
                active.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                defer { active.withLock { $0.now -= 1 } }
                let number = seen.with { requests in
                    defer { requests.append(request) }
                    return requests.count
                }
                if number < gathering { seen.block { $0.count >= gathering } }
                switch reply(request, number) {
                case .answer(let status, let headers, let body):
                    try connection.answer(status, headers: headers, body: body)
                case .hangInBody:
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":")
                    connection.waitForClose()
                case .hang: connection.waitForClose()
                case .close: throw Hangup()
                case .endless:
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n")
                    let piece = [UInt8](repeating: 0x20, count: 1 << 20)
                    for _ in 0..<5120 { try connection.write(piece) }
                }
            }
        }
    }

    private struct Hangup: Error {}

    /// A receiver that accepts everything.
    convenience init() throws { try self.init { _, _ in .answer(204) } }

    var url: String { server.url("/hook") }
    var requests: [TestRequest] { seen.with { $0 } }
    /// The maximum number of requests that were under way together.
    var maxConcurrent: Int { active.withLock { $0.most } }

    /// Returns once there have been `count` requests.
    func wait(for count: Int) async { await seen.wait { $0.count >= count } }
}

extension TestRequest {
    func header(_ name: String) -> String { values(of: name).first ?? "" }

    /// The id of the event: in the header, and in the body of a CloudEvent.
    var eventID: String { header("webhook-id") }

    /// The document in a CloudEvent.
    var documentID: String {
        (try? JSONText(body))?.root["data"]?["_id"]?.string ?? ""
    }

    /// Whether the signature was made with the secret's bytes, by the Standard Webhooks scheme.
    func isSigned(with secret: [UInt8]) -> Bool {
        let message = Array("\(eventID).\(header("webhook-timestamp")).".utf8) + body
        let signature = "v1," + Base64.text(MessageAuthentication.hmacSHA256(message, key: secret))
        return header("webhook-signature").split(separator: " ").contains { $0 == signature }
    }
}
