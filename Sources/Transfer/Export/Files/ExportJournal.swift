internal import GatewayClient
internal import LosslessJSON

/// How far an export is: what a later run needs to go on with it.
///
/// Written beside the output after what it tells of is on the disk, never before.
struct ExportJournal: Sendable, Equatable {
    /// What is done, and so where to go on.
    enum Position: Sendable, Equatable {
        case beginning
        /// Everything up to this id.
        case document(DocumentID)
        /// Everything up to this sequence; the second time if the feed was read to its end once.
        case sequence(SequenceID, isSecondReading: Bool)
        /// The file is as it is to be, whatever its name is by now.
        case whole
    }

    var manifest: ExportManifest
    var position = Position.beginning
    /// Of the file that documents are written to; of the one that is the export, once that is whole.
    var saved = ExportOutput.SavePoint()
    /// Of the export whose place this one takes. Between the removal of the old manifest and the new one's appearance, the
    /// old file is known by it.
    var replaced: ExportManifest?

    init(manifest: ExportManifest) { self.manifest = manifest }

    /// Nil if there is none.
    ///
    /// - Throws: ``TransferError``: `.foreign` if it is not one of ours.
    static func read(_ path: String) throws(TransferError) -> ExportJournal? {
        guard let bytes = try WholeFile.read(path) else { return nil }
        guard let text = try? JSONText(bytes, limits: .files), let journal = ExportJournal(text.root) else {
            throw TransferError(
                .foreign, "\(path) does not say how far an export is; remove it, or run without --resume")
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
