internal import Encodings
internal import LosslessJSON

/// Chooses the documents of a merged export while the exports are read, newest first.
struct MergedDocuments {
    /// The first half of a SHA-256, so that two ids never have the same.
    private struct Digest128: Hashable {
        let high: UInt64
        let low: UInt64

        init(_ text: String) {
            let bytes = Digest.sha256(Array(text.utf8))
            (high, low) = (Self.number(bytes[0..<8]), Self.number(bytes[8..<16]))
        }

        private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    private let keepsTombstones: Bool
    private var framing: DocumentFraming
    private(set) var counts = ExportCounts()
    /// The documents in newer exports.
    private var newer: Set<Digest128> = []
    /// The documents in the export that is being read. It may have several revisions of a document.
    private var current: Set<Digest128> = []

    /// - Parameter keepsTombstones: Whether deleted documents belong to the merged export.
    init(isArray: Bool, keepsTombstones: Bool) {
        self.keepsTombstones = keepsTombstones
        framing = DocumentFraming(isArray: isArray)
    }

    /// What follows the last document.
    var closing: [UInt8] { framing.closing }

    /// Appends the document's line, unless a newer export has the document, or it is deleted.
    ///
    /// - Parameter isLast: Whether no older export follows.
    /// - Returns: Whether it was appended.
    mutating func take(_ document: JSONText, _ id: String, isLast: Bool, into buffer: inout [UInt8]) -> Bool {
        let digest = Digest128(id)
        guard !newer.contains(digest) else { return false }
        if !isLast { current.insert(digest) }
        let isTombstone = document.root["_deleted"]?.bool == true
        guard keepsTombstones || !isTombstone else { return false }
        framing.write(document.bytes[...], to: &buffer)
        counts.lines += 1
        if isTombstone { counts.tombstones += 1 }
        if let attachments = document.root["_attachments"]?.members {
            for member in attachments { count(member.value) }
        }
        return true
    }

    private mutating func count(_ stub: JSONValue) {
        counts.attachments += 1
        guard stub["file"] != nil || stub["data"] != nil else { return }
        counts.bodies += 1
        counts.bodyBytes += stub["length"]?.count ?? 0
    }

    /// Call after each export.
    mutating func endFile() {
        newer.formUnion(current)
        current = []
    }
}
