/// A request as a ``TestServer`` received it.
package struct TestRequest: Sendable {
    /// As sent, such as `GET`; empty if the request line is.
    package let method: String
    /// The request target as sent: path and query, percent-encoded.
    package let target: String
    /// In the order received, names in lower case.
    package let headers: [(name: String, value: String)]
    /// Empty if only the head was read.
    package var body: [UInt8] = []

    init(head: String) {
        let lines = head.split(separator: "\r\n")
        let first = lines.first.map { $0.split(separator: " ") } ?? []
        method = first.isEmpty ? "" : String(first[0])
        target = first.count > 1 ? String(first[1]) : ""
        headers = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " }
            return (line[..<colon].lowercased(), String(value))
        }
    }

    /// All values of the header `name` in the order received; the case of `name` does not matter.
    package func values(of name: String) -> [String] {
        headers.filter { $0.name == name.lowercased() }.map(\.value)
    }

    /// Nil if `Content-Length` is missing or not a number.
    package var contentLength: Int? { values(of: "content-length").first.flatMap { Int($0) } }

    /// The body as UTF-8; invalid bytes become U+FFFD.
    package var text: String { String(decoding: body, as: UTF8.self) }
}
