package import GatewayClient
internal import LosslessJSON

/// What was asked for.
package struct ExportOptions: Sendable, Equatable {
    package var format = ExportSettings.Format.ndjson
    package var isPacked = false
    package var attachments = ExportSettings.Attachments.none
    package var selector: String?
    package var channels: [String]?
    package var since: SequenceID?
    package var includesRevisions = false

    package init(_ settings: ExportSettings, since: SequenceID?, isPacked: Bool) {
        format = settings.format
        self.isPacked = isPacked
        attachments = settings.attachments
        selector = settings.selector
        channels = settings.channels
        self.since = since
        includesRevisions = settings.includesRevisions
    }

    init?(_ value: JSONValue) {
        guard let format = value["format"]?.string.flatMap(ExportSettings.Format.init(rawValue:)),
            let attachments = value["attachments"]?.string
        else { return nil }
        self.format = format
        isPacked = value["gzip"]?.bool ?? false
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
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("format", string: format.rawValue)
            writer.member("gzip", bool: isPacked)
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
        }
    }
}
