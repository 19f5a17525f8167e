internal import GatewayClient
internal import Revisions

/// A full export and the incremental exports that continue it, oldest first.
struct ExportChain: Sendable {
    /// Never empty.
    let files: [ExportFile]

    var full: ExportFile { files[0] }
    /// The export whose end is the end of the chain.
    var newest: ExportFile { files[files.count - 1] }

    /// Reads the manifests, and checks that no increment is missing and that all exports are of one database.
    ///
    /// - Parameters:
    ///   - paths: One full export, and increments in any order.
    ///   - limit: Only exports that were complete at this time, as RFC 3339 in UTC. If several of them are full, the
    ///     newest full one counts, with the increments after it. Nil: all.
    /// - Throws: ``TransferError``: `.usage`, `.missing`, `.invalid`; `.foreign` for an export of another database, and
    ///   for a missing increment.
    init(_ paths: [String], until limit: String?) throws(TransferError) {
        var exports: [ExportFile] = []
        for path in paths { exports.append(try ExportFile(path)) }
        if let limit { exports = exports.filter { !$0.manifest.ended.isEmpty && $0.manifest.ended <= limit } }
        exports = Self.inOrder(exports)
        let fulls = exports.filter { $0.manifest.from == nil }
        guard let full = fulls.last else { throw Self.noFullExport(paths, limit) }
        guard fulls.count == 1 || limit != nil else {
            throw TransferError(
                .usage,
                "\(fulls[0].path) and \(full.path) are both full exports: name one of them, or choose a time with --at")
        }
        files = [full] + exports.filter { $0.manifest.from != nil && $0.manifest.started >= full.manifest.started }
        for (index, file) in files.enumerated() {
            try Self.checkOptions(file, full)
            if index > 0 { try Self.check(file, after: files[..<index]) }
        }
    }

    /// By their start; those that began in the same second by where they end, then by where they begin.
    private static func inOrder(_ exports: [ExportFile]) -> [ExportFile] {
        exports.enumerated().sorted { left, right in
            let (first, second) = (left.element.manifest, right.element.manifest)
            if first.started != second.started { return first.started < second.started }
            return isBefore(first.to, second.to) ?? isBefore(first.from, second.from) ?? (left.offset < right.offset)
        }.map(\.element)
    }

    /// Nil if both are equal, or can't be compared.
    private static func isBefore(_ first: SequenceID?, _ second: SequenceID?) -> Bool? {
        guard let first, let second, first != second else { return nil }
        return first.hasPassed(second).map { !$0 }
    }

    private static func noFullExport(_ paths: [String], _ limit: String?) -> TransferError {
        guard let limit else {
            return TransferError(
                .usage, "none of the exports is a full one: name the full export that \(paths[0]) continues, too")
        }
        return TransferError(
            .usage, "no full export was complete at \(limit): choose a later time, or name an earlier full export, too")
    }

    /// - Throws: ``TransferError``: `.usage` for an export that can't be merged.
    private static func checkOptions(_ file: ExportFile, _ full: ExportFile) throws(TransferError) {
        let (options, fullOptions) = (file.manifest.options, full.manifest.options)
        func refuse(_ reason: String) -> TransferError { TransferError(.usage, "\(file.path): \(reason)") }
        guard !options.format.isTable else {
            throw refuse("a table can't be merged: it does not say which documents were deleted; export as ndjson")
        }
        guard options.selector == nil, options.channels == nil else {
            throw refuse(
                "an export with --selector or --channels can't be merged, because its increments do not name documents "
                    + "that no longer belong to it; export all documents")
        }
        guard options.includesRevisions == fullOptions.includesRevisions else {
            throw refuse(
                "one export has --revisions, and \(full.path) does not, or the reverse; use exports of one kind")
        }
        guard options.attachments.kind == fullOptions.attachments.kind else {
            throw refuse(
                "its attachments are exported as '\(options.attachments.kind)', and those of \(full.path) as "
                    + "'\(fullOptions.attachments.kind)'; use exports with the same --attachments")
        }
    }

    /// - Throws: ``TransferError``: `.foreign` if the export does not continue one of the earlier ones.
    private static func check(_ file: ExportFile, after earlier: ArraySlice<ExportFile>) throws(TransferError) {
        guard let previous = earlier.last, let full = earlier.first else { return }
        if let mismatch = full.manifest.facts.mismatch(with: file.manifest.facts) {
            throw TransferError(.foreign, "\(file.path) does not continue \(full.path): \(mismatch.reason)")
        }
        guard !earlier.contains(where: { file.manifest.continues($0.manifest) }) else { return }
        let (start, end) = (file.manifest.from?.description ?? "", previous.manifest.to?.description ?? "unknown")
        throw TransferError(
            .foreign,
            "an increment is missing: \(file.path) begins at sequence \(start), and \(previous.path), the export before "
                + "it, ends at \(end); name the export between them, too")
    }
}

extension ExportManifest {
    /// Whether this incremental export begins where the other export ends, or before.
    fileprivate func continues(_ earlier: ExportManifest) -> Bool {
        guard let from, let end = earlier.to else { return false }
        if from == end { return true }
        guard let start = from.syncGatewayNumber, let end = end.syncGatewayNumber else { return false }
        return start <= end
    }
}

extension ExportOptions.Attachments {
    /// As the option is written on the command line, with `DIR` for a folder.
    fileprivate var kind: String {
        switch self {
        case .none: "none"
        case .inline: "inline"
        case .folder: "DIR"
        }
    }
}
