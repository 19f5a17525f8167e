internal import Compression
internal import Encodings
internal import HTTPServing

/// Writes a multipart body part by part.
///
/// - Note: Source: RFC 2046, section 5.1. In recorded answers of Sync Gateway 4.1.1, the fields of a part are sorted
///   and a line break follows the end.
struct MultipartWriter {
    /// Whether JSON of at least 300 bytes is compressed.
    ///
    /// - Note: Source: Sync Gateway's `rest/multipart.go`, `kMinCompressedJSONSize`.
    let compressesJSON: Bool
    private static let compressionThreshold = 300
    let boundary = (0..<30).map { _ in UInt8.random(in: .min ... .max) }.hex
    private var body = BodyParts()
    private var isFirst = true

    init(compressesJSON: Bool = false) { self.compressesJSON = compressesJSON }

    /// - Parameter subtype: `mixed` or `related`.
    func contentType(_ subtype: String) -> HTTPField {
        HTTPField("Content-Type", "multipart/\(subtype); boundary=\"\(boundary)\"")
    }

    mutating func part(_ fields: [HTTPField], _ content: BodyParts) {
        var head = isFirst ? "--\(boundary)\r\n" : "\r\n--\(boundary)\r\n"
        isFirst = false
        for field in fields.filter(\.isSendable).sorted(by: { $0.name < $1.name }) {
            head += "\(field.name): \(field.value)\r\n"
        }
        body.append(head + "\r\n")
        body.append(content)
    }

    /// - Parameter parameters: Appended to the content type, with their semicolon.
    mutating func json(_ text: [UInt8], parameters: String = "") {
        let type = HTTPField("Content-Type", "application/json\(parameters)")
        guard compressesJSON, text.count >= Self.compressionThreshold else { return part([type], BodyParts(text)) }
        part([type, HTTPField("Content-Encoding", "gzip")], BodyParts(Gzip.compress(text)))
    }

    /// - Parameter ending: Follows the last boundary. Empty for a body inside a part.
    mutating func close(ending: String = "\r\n") {
        body.append((isFirst ? "" : "\r\n") + "--\(boundary)--" + ending)
    }

    /// The bytes written since the last call.
    mutating func take() -> BodyParts {
        defer { body = BodyParts() }
        return body
    }
}
