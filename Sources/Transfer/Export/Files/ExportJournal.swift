internal import GatewayClient
internal import LosslessJSON

/// The progress of an export, which a later run needs to resume it.
///
/// Written beside the output, and only after the data that it describes is on disk.
struct ExportJournal: Sendable, Equatable {
    /// What is done, and so where to resume.
    enum Position: Sendable, Equatable {
        case beginning
        /// Everything up to this id.
        case document(DocumentID)
        /// Everything up to this sequence; `isSecondReading` if the feed was already read to its end once.
        case sequence(SequenceID, isSecondReading: Bool)
        /// The file is complete, but may not have its final name yet.
        case whole
    }

    var manifest: ExportManifest
    var position = Position.beginning
    /// Save point of the file that documents are written to, or of the final file once that is complete.
    var saved = ExportOutput.SavePoint()
    /// The manifest of the export that this one replaces. It identifies the old file after its manifest is removed and
    /// before the new file takes its name.
    var replaced: ExportManifest?

    init(manifest: ExportManifest) { self.manifest = manifest }

    /// Nil if there is no journal.
    ///
    /// - Throws: ``TransferError``: `.foreign` if the file is not a journal of this program.
    static func read(_ path: String) throws(TransferError) -> ExportJournal? {
        guard let bytes = try WholeFile.read(path) else { return nil }
        guard let text = try? JSONText(bytes, limits: .files), let journal = ExportJournal(text.root) else {
            throw TransferError(
                .foreign, "\(path) does not contain the progress of an export; remove it, or run without --resume")
        }
        return journal
    }

    init?(_ value: JSONValue) {
        guard let manifest = value["manifest"].flatMap(ExportManifest.init), let place = value["position"],
            let position = Self.position(place), let byteCount = value["bytes"]?.count,
            let sha256 = value["sha256"]?.string
        else { return nil }
        self.manifest = manifest
        self.position = position
        saved = ExportOutput.SavePoint(byteCount: byteCount, sha256: sha256)
        replaced = value["replaced"].flatMap(ExportManifest.init)
    }

    private static func position(_ value: JSONValue) -> Position? {
        if let id = value["id"]?.string { return .document(DocumentID(id)) }
        if let sequence = value["sequence"].flatMap(SequenceID.init) {
            return .sequence(sequence, isSecondReading: value["second_reading"]?.bool ?? false)
        }
        switch value["state"]?.string {
        case "beginning": return .beginning
        case "whole": return .whole
        default: return nil
        }
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("position")
            writer.object { writer in
                switch position {
                case .beginning: writer.member("state", string: "beginning")
                case .document(let id): writer.member("id", string: id.text)
                case .sequence(let sequence, let isSecondReading):
                    writer.member("sequence", sequence: sequence)
                    writer.member("second_reading", bool: isSecondReading)
                case .whole: writer.member("state", string: "whole")
                }
            }
            writer.member("bytes", integer: saved.byteCount)
            writer.member("sha256", string: saved.sha256)
            writer.name("manifest")
            manifest.write(to: &writer)
            if let replaced {
                writer.name("replaced")
                replaced.write(to: &writer)
            }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
