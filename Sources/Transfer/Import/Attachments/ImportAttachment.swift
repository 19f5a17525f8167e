internal import GatewayClient
internal import LosslessJSON

/// An attachment of a document that is imported.
struct ImportAttachment: Sendable {
    enum Body: Sendable, Equatable {
        /// Base64 in the document: where the string stands, with its quotes.
        case inline(Range<Int>)
        /// A file of the folder.
        case file(AttachmentBody)
        /// Nowhere: if the gateway has not the same one already, the document can't be written.
        case stub
        /// A merge takes it away.
        case removed
    }

    let name: String
    let contentType: String?
    /// What stands for the type is no text.
    let hasBadType: Bool
    let revisionPosition: Int?
    let digest: String?
    /// Of the bytes that are stored: packed ones if there is an ``encoding``.
    let byteCount: Int?
    /// `gzip` if a Sync Gateway keeps the attachment packed.
    let encoding: String?
    let body: Body
}

/// Why an attachment can't be written.
struct AttachmentFault: Error {
    let reason: String

    init(_ name: String, _ reason: String) { self.reason = "the attachment '\(name)' \(reason)" }
}

extension ImportAttachment {
    private static let membersName = Array("_attachments".utf8)

    /// The attachments of a document; none if it has none.
    ///
    /// - Parameter store: The folder; nil if none was given.
    static func all(of document: JSONValue, store: AttachmentStore?) throws(AttachmentFault) -> [ImportAttachment] {
        guard let members = document.member(named: membersName), members.kind != .null else { return [] }
        guard members.kind == .object else { throw AttachmentFault("", "list is no object") }
        return try members.members.map { member throws(AttachmentFault) in
            try ImportAttachment(member.name.string ?? "", member.value, store)
        }
    }

    private init(_ name: String, _ value: JSONValue, _ store: AttachmentStore?) throws(AttachmentFault) {
        self.name = name
        guard value.kind == .object || value.kind == .null else { throw AttachmentFault(name, "is no object") }
        contentType = value["content_type"]?.string
        hasBadType = value["content_type"].map { $0.kind != .string && $0.kind != .null } ?? false
        revisionPosition = value["revpos"]?.integer
        digest = value["digest"]?.string
        encoding = value["encoding"]?.string
        byteCount = (value["encoded_length"] ?? value["length"])?.integer
        if value.kind == .null {
            body = .removed
        } else if let data = value["data"] {
            guard data.kind == .string, Self.isBase64(data.rawContent) else {
                throw AttachmentFault(name, "has data that is no base64")
            }
            body = .inline(data.range)
        } else if let file = value["file"] {
            body = .file(try Self.file(file.string ?? "", name, store))
        } else if value["stub"]?.bool == true {
            body = .stub
        } else {
            throw AttachmentFault(
                name, "comes without its bytes; export with --attachments inline or --attachments DIR")
        }
    }

    /// RFC 4648, section 4; the slash may be escaped.
    private static func isBase64(_ characters: ArraySlice<UInt8>) -> Bool {
        let padding = characters.suffix(2).count { $0 == UInt8(ascii: "=") }
        let digits = characters.dropLast(padding)
        return digits.withUnsafeBytes { digits in
            var (escapes, strangers) = (0, 0)
            for byte in digits {
                let kind = kinds[Int(byte)]
                escapes &+= Int(kind & 1)
                strangers &+= Int(kind >> 1)
            }
            return strangers == 0 && (digits.count - escapes + padding).isMultiple(of: 4)
        }
    }

    /// By byte: 0 for a digit of base64, 1 for what escapes one, 2 for all others.
    private static let kinds: [UInt8] = (0...255).map { (byte: UInt8) in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): 0
        case UInt8(ascii: "\\"): 1
        default: 2
        }
    }

    /// Finds the file of a stub. Only names that an export gives are taken: no other file can be reached.
    private static func file(
        _ path: String, _ name: String, _ store: AttachmentStore?
    ) throws(AttachmentFault) -> AttachmentBody {
        let sha256 = path.split(separator: "/").last.map(String.init) ?? ""
        let isHexadecimal = sha256.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard sha256.utf8.count == 64, isHexadecimal, path == AttachmentBody.file(sha256) else {
            throw AttachmentFault(name, "names a file that is none of an export")
        }
        guard let store else {
            throw AttachmentFault(name, "is in a folder; name it with --attachments DIR")
        }
        guard let byteCount = store.byteCount(of: sha256) else {
            throw AttachmentFault(name, "is missing: there is no file \(store.path)/\(path)")
        }
        return AttachmentBody(byteCount: byteCount, sha256: sha256)
    }

    /// In modes that keep nothing that is there.
    static func bareStub(_ name: String) -> AttachmentFault {
        AttachmentFault(name, "comes as a stub without its bytes; export with --attachments")
    }

    static func withoutBytes(_ name: String) -> AttachmentFault {
        AttachmentFault(
            name, "comes as a stub without its bytes, and the gateway has not the same one; export with --attachments")
    }

    /// Whether it is so large that it should be sent while it is read.
    func isStreamed(from limit: Int) -> Bool {
        guard mayBeStreamed else { return false }
        return switch body {
        case .file(let body): body.byteCount > limit
        case .inline(let range): range.count > limit
        case .stub, .removed: false
        }
    }

    /// That way of sending would give a type to one that has none, has no place for an encoding, and puts name and type
    /// into a header.
    var mayBeStreamed: Bool {
        guard let contentType, encoding == nil else { return false }
        return [name, contentType].allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    }

    /// Bytes that the body has in a request beyond those of the document.
    ///
    /// - Parameter isStreamed: Whether what may be is sent while it is read.
    func addedByteCount(isStreamed: Bool) -> Int {
        guard case .file(let body) = body, !isStreamed || !mayBeStreamed else { return 0 }
        return (body.byteCount + 2) / 3 * 4
    }
}
