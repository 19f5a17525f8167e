internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import LosslessJSON
package import Revisions
internal import Rules

/// Checks an export against its manifest: size, digest, count, each line, each attachment.
package struct ExportVerifier: Sendable {
    private let file: ExportFile
    private let attachments: AttachmentStore?
    /// The end of the message about a missing file.
    private let remedy: String

    /// - Parameter folder: The folder of attachments. Nil: where the manifest says, or next to the export.
    /// - Throws: ``TransferError``: `.missing` if `folder` does not exist.
    package init(_ file: ExportFile, attachments folder: String? = nil) throws(TransferError) {
        self.file = file
        let given = try folder.map { folder throws(TransferError) in try AttachmentFolderCandidates.checked(folder) }
        guard given == nil, case .folder(let named) = file.manifest.options.attachments else {
            attachments = given.map { AttachmentStore($0) }
            remedy = ""
            return
        }
        let found = AttachmentFolderCandidates(named, of: file.path).found
        attachments = AttachmentStore(found ?? named)
        remedy = found == nil ? "; name the folder with --attachments DIR" : ""
    }

    /// Reads the whole export, and each file of the attachment folder once.
    ///
    /// - Parameter report: Called with each finding, in the order found.
    /// - Returns: What was verified, and what the export lacks.
    /// - Throws: ``TransferError``, `CancellationError`, and what `report` throws.
    @discardableResult
    package func verify(_ report: (VerificationFinding) throws -> Void) async throws -> VerifiedParts {
        let manifest = file.manifest
        var parts = VerifiedParts(manifest.counts)
        guard !file.isEncrypted else {
            parts.isEncrypted = true
            try compareEncrypted(try await file.measureEncrypted(), report)
            return parts
        }
        var digests = FileDigests()
        let measure: ExportFile.FileMeasurements
        if manifest.options.format.isTable {
            measure = try await file.measureTable()
            parts.unverifiedAttachments = manifest.counts.attachments
        } else {
            measure = try await file.readLines { line in
                switch line.document {
                case .failure(let error):
                    try report(VerificationFinding(.line, line: line.number, message: "not JSON: \(error)"))
                case .success(let text):
                    try check(text.root, line: line.number, &parts, report)
                    try checkBlobs(of: text, line: line.number, &digests, report)
                }
            }
        }
        try compare(measure, bodies: parts.verifiedAttachments, report)
        if let attachments { try await checkFiles(of: attachments, report) }
        return parts
    }

    private func compareEncrypted(
        _ measured: (byteCount: Int, sha256: String), _ report: (VerificationFinding) throws -> Void
    ) throws {
        guard let encrypted = file.manifest.encrypted else {
            // A person encrypted it, and the manifest describes only the decrypted file.
            try file.requireReadable()
            return
        }
        try Self.expect(.length, measured.byteCount, encrypted.byteCount, "the length in bytes", report)
        try Self.expect(.digest, measured.sha256, encrypted.sha256, "the SHA-256", report)
    }

    private static func expect<Value: Equatable>(
        _ kind: VerificationFinding.Kind, _ found: Value, _ expected: Value, _ what: String,
        _ report: (VerificationFinding) throws -> Void
    ) throws {
        guard found != expected else { return }
        try report(VerificationFinding(kind, message: "\(what) is \(found), the manifest says \(expected)"))
    }

    private func compare(
        _ measure: ExportFile.FileMeasurements, bodies: Int, _ report: (VerificationFinding) throws -> Void
    ) throws {
        let manifest = file.manifest
        if let error = measure.frameError { try report(VerificationFinding(.framing, message: error)) }
        try Self.expect(.length, measure.byteCount, manifest.byteCount, "the length in bytes", report)
        try Self.expect(.digest, measure.sha256, manifest.sha256, "the SHA-256", report)
        try Self.expect(.count, measure.lines, manifest.counts.lines, "the number of documents", report)
        if !manifest.options.format.isTable {
            try Self.expect(
                .count, bodies, manifest.counts.bodies, "the number of attachments with their bytes", report)
        }
    }

    // MARK: - Lines

    private func check(
        _ document: JSONValue, line: Int, _ parts: inout VerifiedParts, _ report: (VerificationFinding) throws -> Void
    ) throws {
        guard document.kind == .object, let id = document["_id"]?.string else {
            return try report(VerificationFinding(.line, line: line, message: "not a document with an _id"))
        }
        guard let attachments = document["_attachments"] else { return }
        for member in attachments.members {
            let stub = member.value
            guard file.manifest.options.attachments != .none, stub["file"] != nil || stub["data"] != nil else {
                parts.unverifiedAttachments += 1
                continue
            }
            parts.verifiedAttachments += 1
            guard let error = self.error(of: stub) else { continue }
            try report(
                VerificationFinding(
                    .attachment, id: id, line: line,
                    path: JSONPointer(tokens: ["_attachments", member.name.string ?? ""]).description, message: error))
        }
    }

    /// Compares the Couchbase Lite blobs with their attachments. A tombstone has none.
    private func checkBlobs(
        of document: JSONText, line: Int, _ digests: inout FileDigests,
        _ report: (VerificationFinding) throws -> Void
    ) throws {
        guard let id = document.root["_id"]?.string, document.root["_deleted"]?.bool != true else { return }
        let problems = try DocumentBlobs(document.root).problems { try sha1(of: $0, in: document, &digests) }
        for problem in problems {
            var finding = VerificationFinding(
                .attachment, id: id, line: line, path: problem.pointer.description, message: problem.reason)
            finding.concernsBlob = true
            try report(finding)
        }
    }

    /// Nil if the bytes are not in the export.
    private func sha1(of stub: JSONValue, in document: JSONText, _ digests: inout FileDigests) throws -> String? {
        if let data = stub["data"] {
            guard let base64 = try? InlineBase64(data) else { return nil }
            var digest = AttachmentDigest.Calculation(for: .syncGateway)
            InlineAttachment(document.bytes, base64).forEachPiece { digest.update($0) }
            return digest.digest().description
        }
        guard let name = stub["file"]?.string, let store = attachments,
            let sha256 = name.split(separator: "/").last.map(String.init), name == AttachmentBody.file(sha256),
            store.byteCount(of: sha256) != nil
        else { return nil }
        return try digests.sha1(of: sha256, in: store)
    }

    private func error(of stub: JSONValue) -> String? {
        let byteCount: Int
        if let data = stub["data"] {
            guard let data = try? InlineBase64(data) else { return "its data is not base64" }
            byteCount = data.byteCount
        } else {
            guard let name = stub["file"]?.string, let store = attachments,
                let sha256 = name.split(separator: "/").last.map(String.init), name == AttachmentBody.file(sha256)
            else { return "it does not name a file in the attachment folder" }
            guard let count = store.byteCount(of: sha256) else { return "\(store.path)/\(name) is missing\(remedy)" }
            byteCount = count
        }
        guard stub["encoding"] == nil, let length = stub["length"]?.integer, length != byteCount else { return nil }
        return "it has \(byteCount.counted("byte")) instead of \(length)"
    }

    // MARK: - Files

    /// Checks each file of the folder once, even if many documents name it.
    private func checkFiles(of store: AttachmentStore, _ report: (VerificationFinding) throws -> Void) async throws {
        let root = store.path + "/sha256"
        for prefix in Self.names(in: root) {
            for sha256 in Self.names(in: "\(root)/\(prefix)") where sha256.prefix(2) == prefix {
                let path = "\(root)/\(prefix)/\(sha256)"
                let found = try await Self.sha256(of: path)
                guard found != sha256 else { continue }
                try report(
                    VerificationFinding(.attachment, message: "\(path) is damaged: its SHA-256 is \(found)"))
            }
        }
    }

    private static func sha256(of path: String) async throws -> String {
        let file = try OpenFile(reading: path)
        var digest = RunningDigest(.sha256)
        while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty {
            try await ExportFile.checkCancellation()
            digest.update(piece)
        }
        return digest.hex
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
    }
}

/// The SHA-1 digests of attachment files. If many documents share a blob, its file is read once.
private struct FileDigests {
    private static let limit = 10_000

    private var known: [String: String] = [:]

    /// - Parameter sha256: The digest in the file's name.
    mutating func sha1(of sha256: String, in store: AttachmentStore) throws -> String {
        if let sha1 = known[sha256] { return sha1 }
        var digest = AttachmentDigest.Calculation(for: .syncGateway)
        let file = try OpenFile(reading: "\(store.path)/\(AttachmentBody.file(sha256))")
        while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty {
            try Task.checkCancellation()
            digest.update(piece)
        }
        if known.count == Self.limit { known.removeAll() }
        let sha1 = digest.digest().description
        known[sha256] = sha1
        return sha1
    }
}
