/// A request as a ``TestServer`` received it.
package struct TestRequest: Sendable {
    package let method: String
    package let target: String
    /// In order of arrival, names in lower case.
    package let headers: [(name: String, value: String)]
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

    /// All values under `name`.
    package func values(of name: String) -> [String] {
        headers.filter { $0.name == name.lowercased() }.map(\.value)
    }

    package var contentLength: Int? { values(of: "content-length").first.flatMap { Int($0) } }

    package var text: String { String(decoding: body, as: UTF8.self) }
}
