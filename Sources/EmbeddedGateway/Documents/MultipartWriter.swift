/// A multipart body, part by part.
///
/// - Note: Source: RFC 2046, section 5.1; the recorded answers of Sync Gateway 4.1.1 have the fields of a part sorted and
///   a line break behind the end.
struct MultipartWriter {
    let boundary = (0..<30).map { _ in UInt8.random(in: .min ... .max) }.hex
    private var bytes: [UInt8] = []
    private var isFirst = true

    /// - Parameter subtype: `mixed` or `related`.
    func contentType(_ subtype: String) -> HTTPField {
        HTTPField("Content-Type", "multipart/\(subtype); boundary=\"\(boundary)\"")
    }

    mutating func part(_ fields: [HTTPField], _ content: [UInt8]) {
        bytes += (isFirst ? "--\(boundary)\r\n" : "\r\n--\(boundary)\r\n").utf8
        isFirst = false
        for field in fields.filter(\.isSendable).sorted(by: { $0.name < $1.name }) {
            bytes += "\(field.name): \(field.value)\r\n".utf8
        }
        bytes += "\r\n".utf8
        bytes += content
    }

    mutating func close() {
        bytes += (isFirst ? "--\(boundary)--\r\n" : "\r\n--\(boundary)--\r\n").utf8
    }

    /// What was written since the last call.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}
