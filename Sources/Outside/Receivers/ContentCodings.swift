internal import Compression
internal import HTTPTransport

/// The content codings of a response. None is requested, but some servers and proxies compress every response.
struct ContentCodings {
    /// Why a body can't be decoded, for users.
    struct Failure: Error, Equatable {
        let reason: String
        /// Whether the decoded body is longer than permitted.
        var isTooLong = false
    }

    /// The maximum number of codings that are decoded. No server uses several.
    private static let maxCodings = 4

    /// In lower case, in the order in which they were applied; without `identity`.
    private let names: [String]

    /// - Note: Source: RFC 9110, sections 8.4 and 8.4.1.3: `x-gzip` is `gzip`.
    init(_ headers: HTTPHeaders) {
        names = headers.values(of: "Content-Encoding").flatMap { $0.split(separator: ",") }
            .map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty && $0 != "identity" }
    }

    /// The decoded body.
    ///
    /// - Parameter limit: The maximum number of bytes that each step may produce.
    func decode(_ body: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        guard names.count <= Self.maxCodings else {
            throw Failure(reason: "it has too many content codings, \(names.count)")
        }
        var body = body
        for name in names.reversed() where !body.isEmpty {
            guard ["gzip", "x-gzip"].contains(name) else {
                throw Failure(reason: "it has the content coding '\(name)', which was not requested")
            }
            do throws(GzipError) { body = try Gzip.decompress(body, limit: limit) } catch {
                throw Failure(reason: "\(error)", isTooLong: error == .tooLong)
            }
        }
        return body
    }

    /// Decodes as much of a body's beginning as it can. Empty if it can decode nothing.
    func decodeBeginning(_ body: [UInt8], limit: Int) -> [UInt8] {
        guard !names.isEmpty else { return body }
        guard names == ["gzip"] || names == ["x-gzip"] else { return [] }
        var reader = GzipReader(limit: limit)
        var text: [UInt8] = []
        try? reader.read(body[...], to: &text)
        return text
    }
}
