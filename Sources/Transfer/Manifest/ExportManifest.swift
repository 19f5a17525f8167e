package import GatewayClient
package import LosslessJSON

/// What stands beside an export: where it comes from, what it holds, and by what it is known to be whole.
package struct ExportManifest: Sendable, Equatable {
    /// How the documents were read.
    package enum Source: String, Sendable {
        /// In the order of their ids.
        case pages = "_all_docs"
        /// In the order of their changes.
        case feed = "_changes"
        /// The same, each with all its leaves.
        case revisions = "_bulk_get"
    }

    static let version = 1

    package var tool = ""
    package var facts: DatabaseFacts
    package var source = Source.pages
    /// What changed up to there is not in it. Nil: it holds everything.
    package var from: SequenceID?
    /// What changed after that may not be in it: where the next one begins.
    package var to: SequenceID?
    package var counts = ExportCounts()
    /// Length of the file as it is, packed or not.
    package var byteCount = 0
    /// Of the file as it is.
    package var sha256 = ""
    package var options: ExportOptions
    /// How often it was interrupted and gone on with.
    package var resumed = 0
    /// RFC 3339.
    package var started = ""
    package var ended = ""

    package init(facts: DatabaseFacts, options: ExportOptions) {
        self.facts = facts
        self.options = options
        to = facts.newest
    }

    /// - Returns: Nil if this is no manifest, or one of a later version.
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
    }

    /// - Throws: ``TransferError``: `.missing`, `.invalid`.
    package static func read(_ path: String) throws(TransferError) -> ExportManifest {
        // What is much longer is no manifest, but may be an export.
        guard let bytes = try WholeFile.read(ExportPlace.findManifest(path), whole: false) else {
            throw TransferError(.missing, "there is no manifest \(path); was the export whole?")
        }
        guard let text = try? JSONText(bytes, limits: .files), let manifest = ExportManifest(text.root) else {
            let remedy =
                ExportPlace.isManifest(path)
                ? "" : "; if it is the export itself, name its manifest: \(ExportPlace.manifest(of: path).shellWord)"
            throw TransferError(.invalid, "\(path) is no manifest of an export\(remedy)")
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
            writer.name("options")
            options.write(to: &writer)
            writer.member("resumed", integer: resumed)
            writer.member("started", string: started)
            writer.member("ended", string: ended)
        }
    }

    /// JSON text with a final line feed.
    var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
