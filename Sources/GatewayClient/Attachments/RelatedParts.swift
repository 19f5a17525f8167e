internal import Encodings
internal import HTTPTransport
internal import LosslessJSON

/// A document and the attachments that follow it, as one `multipart/related` body: a part for the document, then one
/// for each attachment, in the order in which the document names them.
///
/// - Note: Source: RFC 2387; "Creating Multiple Attachments" in CouchDB's reference.
struct RelatedParts: Sendable {
    let contentType: String
    /// The delimiter and header before each attachment; the first one also contains the document.
    private let heads: [[UInt8]]
    private let uploads: [AttachmentUpload]
    private let end: [UInt8]

    /// - Parameters:
    ///   - digests: The algorithm that the gateway uses; other digests are omitted.
    ///   - boundary: Must not occur in any part.
    init(
        _ document: JSONText, _ uploads: [AttachmentUpload], digests: Digest, boundary: String
    ) {
        contentType = "multipart/related; boundary=\"\(boundary)\""
        self.uploads = uploads
        end = Array("\r\n--\(boundary)--".utf8)
        var next = Array("--\(boundary)\r\nContent-Type: application/json\r\n\r\n".utf8)
        next += Self.document(document, naming: uploads, digests)
        heads = uploads.map { upload in
            defer { next = [] }
            let name = upload.name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return next + "\r\n--\(boundary)\r\nContent-Disposition: attachment; filename=\"".utf8 + name.utf8
                + "\"\r\nContent-Type: \(upload.contentType)\r\n\r\n".utf8
        }
    }

    /// The body, produced while it is sent. Nil if its length overflows `Int`.
    func source() -> HTTPBodySource? {
        var count = end.count
        for part in zip(heads, uploads) {
            let (sum, isTooLong) = count.addingReportingOverflow(part.1.source.count)
            guard !isTooLong, part.1.source.count >= 0 else { return nil }
            count = sum + part.0.count
        }
        let reading = Reading(self)
        return HTTPBodySource(count: count) { try await reading.next() }
    }

    /// The document with all its attachments: kept ones first, then new ones. A new one replaces a kept one of the same
    /// name.
    private static func document(
        _ document: JSONText, naming uploads: [AttachmentUpload], _ digests: Digest
    ) -> [UInt8] {
        let kept = document.root["_attachments"]?.members.filter { member in
            !uploads.contains { $0.name.utf8.elementsEqual((member.name.string ?? "").utf8) }
        }
        var body = JSONWriter()
        body.object { body in
            for member in document.root.members where member.name.string != "_attachments" {
                body.raw(document.bytes[member.range])
            }
            body.name("_attachments")
            body.object { body in
                for member in kept ?? [] { body.raw(document.bytes[member.range]) }
                for upload in uploads {
                    body.name(upload.name)
                    body.object { upload.describe(to: &$0, digests) }
                }
            }
        }
        return body.bytes
    }

    /// The position in the body. Read by one task.
    private actor Reading {
        private let parts: RelatedParts
        private var index = 0
        private var isInAttachment = false
        /// How many bytes of the current attachment remain.
        private var left = 0

        init(_ parts: RelatedParts) { self.parts = parts }

        func next() async throws -> [UInt8]? {
            while index < parts.uploads.count {
                let source = parts.uploads[index].source
                guard isInAttachment else {
                    (isInAttachment, left) = (true, source.count)
                    return parts.heads[index]
                }
                if let bytes = try await source.next() {
                    left -= bytes.count
                    // Bytes beyond the announced length must not run into the next part.
                    guard left >= 0 else { throw LengthError(name: parts.uploads[index].name) }
                    return bytes
                }
                guard left == 0 else { throw LengthError(name: parts.uploads[index].name) }
                (isInAttachment, index) = (false, index + 1)
            }
            defer { index = .max }
            return index == .max ? nil : parts.end
        }
    }

    private struct LengthError: Error, CustomStringConvertible {
        let name: String
        var description: String { "the attachment '\(name)' does not have the announced length" }
    }
}

extension AttachmentUpload {
    fileprivate func describe(to stub: inout JSONWriter, _ digests: Digest) {
        stub.member("follows", bool: true)
        stub.member("content_type", string: contentType)
        stub.member("length", integer: source.count)
        if let generation { stub.member("revpos", integer: generation) }
        if let digest, digest.algorithm == digests { stub.member("digest", string: digest.description) }
    }
}
