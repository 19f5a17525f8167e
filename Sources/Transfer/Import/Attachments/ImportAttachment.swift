internal import GatewayClient
internal import LosslessJSON
internal import Revisions

/// An attachment of an imported document.
struct ImportAttachment: Sendable {
    enum Body: Sendable, Equatable {
        /// Base64 in the document.
        case inline(InlineBase64)
        /// A file in the folder of attachments.
        case file(AttachmentBody)
        /// The bytes are not available. The document can be written only if the gateway has the same attachment.
        case stub(MissingBytes)
        /// Null: a merge removes it.
        case removed
    }

    let name: String
    let contentType: String?
    /// The content type is neither a string nor null.
    let hasBadType: Bool
    let revisionPosition: Int?
    let digest: String?
    /// Length of the stored bytes. They are compressed if there is an ``encoding``.
    let byteCount: Int?
    /// `gzip` if a Sync Gateway stores the attachment compressed.
    let encoding: String?
    let body: Body

    /// Whether the bytes are not available.
    var isStub: Bool { missingBytes != nil }

    /// Why the bytes are not available; nil if they are.
    private var missingBytes: MissingBytes? { if case .stub(let missing) = body { missing } else { nil } }
}

/// Why the bytes of an attachment are not available.
enum MissingBytes: Sendable, Equatable {
    /// The document names no file for them.
    case notExported
    /// The bytes are in an export's folder, but no folder was given or found.
    case noFolder
    /// The file at this path is missing in the folder.
    case noFile(String)

    var reason: String {
        switch self {
        case .notExported: "is a stub without its bytes"
        case .noFolder: "is a stub whose bytes are in the export's attachment folder"
        case .noFile(let path): "is missing: there is no file \(path)"
        }
    }

    var remedy: String {
        switch self {
        case .notExported: "export with --attachments"
        case .noFolder: "name that folder with --attachments DIR"
        case .noFile: "use --attachments DIR to name the folder that contains it"
        }
    }
}

/// Why an attachment can't be written.
struct AttachmentError: Error {
    let reason: String

    init(reason: String) { self.reason = reason }

    init(_ name: String, _ reason: String) { self.init(reason: "the attachment '\(name)' \(reason)") }
}

extension ImportAttachment {
    /// The attachments of a document; empty if it has none.
    ///
    /// - Parameter store: The folder; nil if none was given.
    static func all(of document: JSONValue, store: AttachmentStore?) throws(AttachmentError) -> [ImportAttachment] {
        guard let members = document["_attachments"], members.kind != .null else { return [] }
        guard members.kind == .object else { throw AttachmentError(reason: "_attachments is not an object") }
        return try members.members.map { member throws(AttachmentError) in
            let name = member.name.string ?? ""
            guard member.name.isText else { throw AttachmentError(name, "has a lone surrogate in its name") }
            return try ImportAttachment(name, member.value, store)
        }
    }

    private init(_ name: String, _ value: JSONValue, _ store: AttachmentStore?) throws(AttachmentError) {
        self.name = name
        guard value.kind == .object || value.kind == .null else { throw AttachmentError(name, "is not an object") }
        contentType = value["content_type"]?.string
        hasBadType = value["content_type"].map { $0.kind != .string && $0.kind != .null } ?? false
        revisionPosition = value["revpos"]?.integer
        digest = value["digest"]?.string
        encoding = value["encoding"]?.string
        byteCount = (value["encoded_length"] ?? value["length"])?.integer
        if value.kind == .null {
            body = .removed
        } else if let data = value["data"] {
            do throws(InlineBase64Error) { body = .inline(try InlineBase64(data)) } catch {
                throw AttachmentError(name, "has data that is \(error)")
            }
        } else if let file = value["file"] {
            body = try Self.file(file.string ?? "", name, store)
        } else if value["stub"]?.bool == true {
            body = .stub(.notExported)
        } else {
            throw AttachmentError(
                name, "is a stub without its bytes; export with --attachments inline or --attachments DIR")
        }
    }

    /// Finds the file of a stub. Only names that an export writes are accepted, so that no other file can be read. If
    /// the file is missing, the attachment is treated as an ordinary stub.
    private static func file(
        _ path: String, _ name: String, _ store: AttachmentStore?
    ) throws(AttachmentError) -> Body {
        let sha256 = path.split(separator: "/").last.map(String.init) ?? ""
        let isHexadecimal = sha256.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard sha256.utf8.count == 64, isHexadecimal, path == AttachmentBody.file(sha256) else {
            throw AttachmentError(name, "has a file path that exports do not use")
        }
        guard let store else { return .stub(.noFolder) }
        guard let byteCount = store.byteCount(of: sha256) else { return .stub(.noFile("\(store.path)/\(path)")) }
        return .file(AttachmentBody(byteCount: byteCount, sha256: sha256))
    }

    /// The error for a stub in a mode that does not keep existing attachments.
    func bareStub(_ missing: MissingBytes) -> AttachmentError {
        AttachmentError(name, "\(missing.reason); \(missing.remedy)")
    }

    /// The error for a stub whose attachment the gateway does not have either.
    var withoutBytes: AttachmentError {
        let missing = missingBytes ?? .notExported
        return AttachmentError(
            name, "\(missing.reason), and the gateway does not have it either; \(missing.remedy)")
    }

    /// The error for a stub whose name belongs to a different attachment on the gateway.
    var withoutOtherBytes: AttachmentError {
        let missing = missingBytes ?? .notExported
        return AttachmentError(
            name,
            "\(missing.reason), and the gateway's attachment of this name has another digest; \(missing.remedy)")
    }

    /// Whether the attachment is large enough to be streamed while it is read.
    func isStreamed(from limit: Int) -> Bool {
        guard mayBeStreamed else { return false }
        return switch body {
        case .file(let body): body.byteCount > limit
        case .inline(let base64): base64.content.count > limit
        case .stub, .removed: false
        }
    }

    /// Streaming uses `multipart/related`. It would add a missing type, can't carry an encoding, and puts name and type
    /// into headers.
    var mayBeStreamed: Bool {
        guard let contentType, encoding == nil else { return false }
        return [name, contentType].allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    }

    /// Bytes that this attachment adds to a request, in addition to those of the document.
    ///
    /// - Parameter isStreamed: Whether streaming is used where possible.
    func addedByteCount(isStreamed: Bool) -> Int {
        guard case .file(let body) = body, !isStreamed || !mayBeStreamed else { return 0 }
        // Sizes above every gateway's limit make no difference, and the cap prevents overflow of sums.
        return (min(body.byteCount, 1 << 40) + 2) / 3 * 4
    }
}
