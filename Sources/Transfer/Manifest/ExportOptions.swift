package import GatewayClient
internal import LosslessJSON

/// The options recorded in a manifest. They are equal only if their texts have the same bytes.
package struct ExportOptions: Sendable, Equatable {
    /// Where the bytes of attachments go.
    package enum Attachments: Sendable, Equatable {
        /// They are not exported; documents keep their stubs.
        case none
        /// Into the document, as base64.
        case inline
        /// Into files in this folder.
        case folder(String)
    }

    /// Default: NDJSON.
    package var format = OutputFormat.ndjson
    /// Whether the file is compressed with gzip. Default: false.
    package var isCompressed = false
    /// Default: none.
    package var attachments = Attachments.none
    /// The Mango selector as given; nil for all documents.
    package var selector: String?
    /// Sync Gateway's channels; nil for all.
    package var channels: [String]?
    /// The sequence an incremental export starts after; nil for a full export.
    package var since: SequenceID?
    /// Whether all leaf revisions are exported, with their histories. Default: false.
    package var includesRevisions = false
    /// Chosen columns and delimiter of a table.
    package var table = CSVOptions()

    init() {}

    /// Compares texts as bytes: channels or folders that are only canonically equivalent differ.
    package static func == (left: ExportOptions, right: ExportOptions) -> Bool {
        guard left.since == right.since else { return false }
        let texts = [left, right].map { options in
            var (options, writer) = (options, JSONWriter())
            options.since = nil
            options.write(to: &writer)
            return writer.bytes
        }
        return texts[0] == texts[1]
    }

    init?(_ value: JSONValue) {
        guard let format = value["format"]?.string.flatMap(OutputFormat.init(rawValue:)),
            let attachments = value["attachments"]?.string
        else { return nil }
        self.format = format
        isCompressed = value["gzip"]?.bool ?? false
        switch attachments {
        case "none": self.attachments = .none
        case "inline": self.attachments = .inline
        default: self.attachments = .folder(value["folder"]?.string ?? "")
        }
        selector = value["selector"]?.string
        channels = value["channels"]?.elements.compactMap(\.string)
        if value["channels"]?.kind != .array { channels = nil }
        since = value["since"].flatMap(SequenceID.init)
        includesRevisions = value["revisions"]?.bool ?? false
        if let fields = value["fields"]?.string { table.fields = try? CSVFields(fields) }
        if let delimiter = value["delimiter"]?.string.flatMap({ CSVDelimiter($0) }) { table.delimiter = delimiter }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("format", string: format.rawValue)
            writer.member("gzip", bool: isCompressed)
            switch attachments {
            case .none: writer.member("attachments", string: "none")
            case .inline: writer.member("attachments", string: "inline")
            case .folder(let folder):
                writer.member("attachments", string: "folder")
                writer.member("folder", string: folder)
            }
            writer.member("selector", optional: selector)
            writer.name("channels")
            if let channels {
                writer.array { writer in for channel in channels { writer.string(channel) } }
            } else {
                writer.null()
            }
            writer.member("since", sequence: since)
            writer.member("revisions", bool: includesRevisions)
            if format.isTable {
                writer.member("fields", optional: table.fields?.text)
                writer.member("delimiter", string: String(decoding: [table.delimiter.byte], as: UTF8.self))
            }
        }
    }
}
