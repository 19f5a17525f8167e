internal import Compression
internal import Encodings
internal import HTTPServing
internal import LosslessJSON

/// A document with its attachments as separate parts, `multipart/related`.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1: parts are matched by digest, not by name.
enum MultipartDocument {
    /// - Parameter object: Parses the text of the first part.
    /// - Throws: ``RequestError`` 400 if parts and attachments do not match.
    static func read(
        _ body: [UInt8], contentType: String, object: ([UInt8]) throws(RequestError) -> JSONValue
    ) throws(RequestError) -> (object: JSONValue, following: [[UInt8]: [UInt8]]) {
        var parts = try MultipartSplitter(body, contentType: contentType)
        guard let first = try parts.next() else {
            throw RequestError(500, "Internal error: multipart: NextPart: EOF")
        }
        let object = try object(try decompressed(first))
        var due = (object["_attachments"].map { Array($0.members) } ?? []).filter { $0.value["follows"]?.bool == true }
        let count = due.count
        var following: [[UInt8]: [UInt8]] = [:]
        for number in 0..<count {
            guard let part = try parts.next() else {
                throw RequestError(400, "Too few MIME parts: expected \(count) attachments, got \(number)")
            }
            let content = Array(part.content)
            let entry = try take(content, from: &due, part: number + 2)
            following[entry.name.utf8 ?? []] = content
        }
        guard try parts.next() == nil else {
            throw RequestError(400, "Too many MIME parts (expected \(count + 1))")
        }
        return (object, following)
    }

    private static func decompressed(_ part: MultipartSplitter.Part) throws(RequestError) -> [UInt8] {
        guard part.fields.contains(where: { $0.isNamed("Content-Encoding") && $0.value == "gzip" }) else {
            return Array(part.content)
        }
        do { return try Gzip.decompress(Array(part.content), limit: Router.bodyLimit) } catch {
            throw RequestError(decompressing: error)
        }
    }

    /// Removes and returns the entry with the content's digest.
    private static func take(
        _ content: [UInt8], from due: inout [JSONValue.Member], part: Int
    ) throws(RequestError) -> JSONValue.Member {
        let digests = [Digest.sha1.attachmentName(content), Digest.md5.attachmentName(content)]
        let place = digests.compactMap { digest in due.firstIndex { $0.value["digest"]?.string == digest } }.first
        guard let place else { throw RequestError(400, "MIME part #\(part) doesn't match any attachment") }
        let entry = due.remove(at: place)
        let length = entry.value["encoded_length"]?.integer ?? entry.value["length"]?.integer
        guard let length, length != content.count else { return entry }
        throw RequestError(
            400,
            "Attachment length mismatch for \"\(entry.name.string ?? "")\": "
                + "read \(content.count) bytes, should be \(length)")
    }
}
