internal import Encodings
package import GatewayClient
package import LosslessJSON
package import Revisions

/// The manifest next to an export: its origin, its contents, and what to check them against.
package struct ExportManifest: Sendable, Equatable {
    /// How the documents were read.
    package enum Source: String, Sendable {
        /// In order of id.
        case pages = "_all_docs"
        /// In order of change.
        case feed = "_changes"
        /// In order of change, with all leaf revisions of each document.
        case revisions = "_bulk_get"
    }

    static let version = 1

    /// Name and version of the program that wrote it.
    package var tool = ""
    /// The database at the start of the export.
    package var facts: DatabaseFacts
    /// May change from `pages` to `feed` if the user may not list documents.
    package var source = Source.pages
    /// Changes up to this sequence are not included. Nil for a full export.
    package var from: SequenceID?
    /// Changes after this sequence may not be included: the next incremental export starts here. Nil if not known.
    package var to: SequenceID?
    /// Final only when the export is complete.
    package var counts = ExportCounts()
    /// Size of the file in bytes, compressed or not.
    package var byteCount = 0
    /// SHA-256 of the file, in lowercase hexadecimal.
    package var sha256 = ""
    /// The encrypted file; nil if the export is not encrypted. ``byteCount`` and ``sha256`` are those of the decrypted
    /// file.
    package var encrypted: EncryptedFile?
    /// A later export replaces or resumes this one only with the same options.
    package var options: ExportOptions
    /// How often it was interrupted and resumed.
    package var resumed = 0
    /// When the export began, as RFC 3339.
    package var started = ""
    /// When it was complete, as RFC 3339; empty before.
    package var ended = ""

    /// Starts a manifest whose ``to`` is the database's newest sequence.
    package init(facts: DatabaseFacts, options: ExportOptions) {
        self.facts = facts
        self.options = options
        to = facts.newest
    }

    /// Nil if this is not a manifest, or has another version.
    package init?(_ value: JSONValue) {
        guard value["version"]?.integer == Self.version, let facts = DatabaseFacts(value),
            let source = value["source"]?.string.flatMap(Source.init(rawValue:)),
            let byteCount = value["bytes"]?.count, let sha256 = value["sha256"]?.string,
            let counts = ExportCounts(value), let options = value["options"].flatMap(ExportOptions.init)
        else { return nil }
        self.facts = facts
        self.source = source
        self.byteCount = byteCount
        self.sha256 = sha256
        self.counts = counts
        self.options = options
        tool = value["tool"]?.string ?? ""
        from = value["from_sequence"].flatMap(SequenceID.init)
        to = value["to_sequence"].flatMap(SequenceID.init)
        resumed = value["resumed"]?.count ?? 0
        started = value["started"]?.string ?? ""
        ended = value["ended"]?.string ?? ""
        encrypted = value["encrypted"].flatMap(EncryptedFile.init)
    }

    /// The size and the SHA-256 that a file must have. For an encrypted file of an export that is not encrypted, those
    /// of the decrypted file.
    func file(encrypted isEncrypted: Bool) -> (byteCount: Int, sha256: String) {
        guard isEncrypted, let encrypted else { return (byteCount, sha256) }
        return (encrypted.byteCount, encrypted.sha256)
    }

    /// Reads the manifest at `path`. If the export's name is a link, the manifest is next to its target.
    ///
    /// - Throws: ``TransferError``: `.missing`, `.invalid`.
    package static func read(_ path: String) throws(TransferError) -> ExportManifest {
        // A much longer file is not a manifest, but may be the export itself.
        guard let bytes = try FileOperations.read(ExportPlace.findManifest(path), whole: false) else {
            throw TransferError(.missing, "there is no manifest \(path); did the export finish?")
        }
        guard let text = try? JSONText(bytes, limits: .files), let manifest = ExportManifest(text.root) else {
            let remedy =
                ExportPlace.isManifest(path)
                ? "" : "; if it is the export itself, name its manifest: \(ExportPlace.manifest(of: path).shellWord)"
            throw TransferError(.invalid, "\(path) is not the manifest of an export\(remedy)")
        }
        return manifest
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("version", integer: Self.version)
            writer.member("tool", string: tool)
            facts.write(to: &writer)
            writer.member("source", string: source.rawValue)
            writer.member("from_sequence", sequence: from)
            writer.member("to_sequence", sequence: to)
            counts.write(to: &writer)
            writer.member("bytes", integer: byteCount)
            writer.member("sha256", string: sha256)
            if let encrypted {
                writer.name("encrypted")
                encrypted.write(to: &writer)
            }
            writer.name("options")
            options.write(to: &writer)
            writer.member("resumed", integer: resumed)
            writer.member("started", string: started)
            writer.member("ended", string: ended)
        }
    }

    /// JSON with a final line feed.
    var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

/// The counts in an export's manifest.
package struct ExportCounts: Sendable, Equatable {
    /// Documents in the file: lines, array elements, or CSV rows without the header.
    package var lines = 0
    /// How many of the lines are tombstones.
    package var tombstones = 0
    /// Documents that could not be read and are missing.
    package var unreadable = 0
    /// Attachment stubs in the documents.
    package var attachments = 0
    /// Attachments whose bytes were exported.
    package var bodies = 0
    /// Bytes of the exported attachments.
    package var bodyBytes = 0
    /// Attachments whose bytes could not be fetched.
    package var missingBodies = 0

    /// All zero.
    package init() {}

    init?(_ manifest: JSONValue) {
        guard let lines = manifest["count"]?.count else { return nil }
        self.lines = lines
        tombstones = manifest["tombstones"]?.count ?? 0
        unreadable = manifest["unreadable"]?.count ?? 0
        let attachments = manifest["attachments"]
        self.attachments = attachments?["stubs"]?.count ?? 0
        bodies = attachments?["bodies"]?.count ?? 0
        bodyBytes = attachments?["bytes"]?.count ?? 0
        missingBodies = attachments?["missing"]?.count ?? 0
    }

    func write(to writer: inout JSONWriter) {
        writer.member("count", integer: lines)
        writer.member("tombstones", integer: tombstones)
        writer.member("unreadable", integer: unreadable)
        writer.name("attachments")
        writer.object { writer in
            writer.member("stubs", integer: attachments)
            writer.member("bodies", integer: bodies)
            writer.member("bytes", integer: bodyBytes)
            writer.member("missing", integer: missingBodies)
        }
    }
}

extension JSONValue {
    /// A count in one of our files: from 0 to 2^53, so that sums don't overflow. Nil for other values.
    var count: Int? { integer.flatMap { (0...1 << 53).contains($0) ? $0 : nil } }
}
