internal import Foundation
internal import Glibc

/// A running `rules play`, and a connection to it as the page has one.
final class Playground {
    /// The parts of an answer, in the order in which they arrive, as a table names them.
    static let parts = ["errors", "visible documents", "details of one", "tests", "all counts"]
    /// The member by which each part is recognized. The last one ends the answer.
    private static let marks = ["\"diagnostics\"", "\"results\"", "\"detail\"", "\"tests\"", "\"end\""]

    private let process = Process()
    private let port: UInt16
    private let token: String

    /// - Throws: ``BenchmarkError`` if the program does not print its address.
    init(rules: String, input: String) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Program.path)
        process.arguments = ["rules", "play", rules, "--input", input, "--listen", "127.0.0.1:0"]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        (port, token) = try Self.address(printedTo: output.fileHandleForReading)
    }

    private static func address(printedTo output: FileHandle) throws -> (port: UInt16, token: String) {
        var text = ""
        while true {
            if let match = text.firstMatch(of: /127\.0\.0\.1:(\d+)\/\S*#(\S+)\s/), let port = UInt16(match.1) {
                return (port, String(match.2))
            }
            let bytes = output.availableData
            guard !bytes.isEmpty else { throw BenchmarkError("rules play has ended: \(text)") }
            text += String(decoding: bytes, as: UTF8.self)
        }
    }

    func stop() { Program.stop(process) }

    /// Sends an edited text, and returns when each of ``parts`` was complete, in milliseconds.
    func answer(to text: String) throws -> [Double] {
        let body = try JSONSerialization.data(
            withJSONObject: [
                "page": "bench", "file": 0, "text": text, "visible": Array(0..<12), "selected": 3, "counts": true,
            ])
        let head = [
            "POST /api/evaluate HTTP/1.1", "Host: 127.0.0.1:\(port)", "Origin: http://127.0.0.1:\(port)",
            "Sec-Fetch-Site: same-origin", "Content-Type: application/json", "X-Changebot-Token: \(token)",
            "Content-Length: \(body.count)", "Connection: close", "", "",
        ].joined(separator: "\r\n")
        let socket = try connect()
        defer { close(socket) }
        let start = ContinuousClock.now
        try send(Data(head.utf8) + body, on: socket)
        return try times(since: start, of: socket)
    }

    private func times(since start: ContinuousClock.Instant, of socket: Int32) throws -> [Double] {
        var (times, text): ([Double], [UInt8]) = ([], [])
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while times.count < Self.marks.count {
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else {
                throw BenchmarkError("the answer ends early: \(String(decoding: text.prefix(1000), as: UTF8.self))")
            }
            text += chunk[..<count]
            let elapsed = start.duration(to: .now)
            while times.count < Self.marks.count, text.contains(Self.marks[times.count].utf8) {
                times.append(elapsed / .milliseconds(1))
            }
        }
        return times
    }

    private func connect() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw BenchmarkError("can't connect to port \(port)") }
        return descriptor
    }

    private func send(_ bytes: Data, on socket: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw BenchmarkError("can't send the request") }
            rest = rest.dropFirst(count)
        }
    }
}
