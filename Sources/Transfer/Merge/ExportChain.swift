internal import GatewayClient
internal import Revisions

/// A full export and the incremental exports that continue it, oldest first.
package struct ExportChain: Sendable {
    /// Never empty.
    let files: [ExportFile]
    /// The paths of increments that the full export has made superfluous.
    let superseded: [String]

    var full: ExportFile { files[0] }
    /// The export whose end is the end of the chain.
    var newest: ExportFile { files[files.count - 1] }

    /// Where the chain ends.
    package enum Limit: Sendable {
        /// With the exports that were complete at this time, as RFC 3339 in UTC.
        case time(String)
        /// With the export that has this manifest.
        case export(ExportManifest)
    }

    /// Reads the manifests, and checks that no increment is missing and that all exports are of one database.
    ///
    /// Increments that end before the full export does are left out: it has all of them.
    ///
    /// - Parameters:
    ///   - paths: One full export, and increments in any order.
    ///   - limit: Nil: all exports. Otherwise, several of them may be full; the newest one up to the limit counts.
    /// - Throws: ``TransferError``: `.usage`, `.missing`, `.invalid`; `.foreign` for an export of another database, and
    ///   for a missing increment.
    init(_ paths: [String], until limit: Limit?) throws(TransferError) {
        var exports: [ExportFile] = []
        for path in paths {
            let export = try ExportFile(path)
            try export.requireReadable()
            exports.append(export)
        }
        exports = Self.inOrder(exports)
        switch limit {
        case .time(let time)?: exports = exports.filter { !$0.manifest.ended.isEmpty && $0.manifest.ended <= time }
        case .export(let manifest)?: exports = try Self.upTo(manifest, exports)
        case nil: break
        }
        let fulls = exports.filter { $0.manifest.from == nil }
        guard let full = fulls.last else { throw Self.noFullExport(paths, limit) }
        guard fulls.count == 1 || limit != nil else {
            throw TransferError(
                .usage,
                "\(fulls[0].path) and \(full.path) are both full exports: name one of them, or choose a time with --at")
        }
        let (later, superseded) = Self.increments(exports, after: full)
        self.superseded = superseded.map(\.path)
        files = [full] + later
        for (index, file) in files.enumerated() {
            try Self.checkOptions(file, full)
            if index > 0 { try Self.check(file, after: files[..<index]) }
        }
    }

    /// Why the merged export may have documents that a full export would not have; nil if there is no sign of that.
    var warning: String? {
        files.lazy.compactMap { full.manifest.facts.warning(about: $0.manifest.facts) }.first
    }

    /// By the sequence where they end, then by the one where they begin. A clock may be wrong, so times count only if
    /// sequences can't be compared.
    private static func inOrder(_ exports: [ExportFile]) -> [ExportFile] {
        exports.enumerated().sorted { left, right in
            let (first, second) = (left.element.manifest, right.element.manifest)
            if let isBefore = isBefore(first.to, second.to) ?? isBefore(first.from, second.from) { return isBefore }
            if first.started != second.started { return first.started < second.started }
            return left.offset < right.offset
        }.map(\.element)
    }

    /// Nil if both are equal, or can't be compared.
    private static func isBefore(_ first: SequenceID?, _ second: SequenceID?) -> Bool? {
        guard let first, let second, first != second, let hasPassed = first.hasPassed(second) else { return nil }
        // Two different sequences of CouchDB may have the same number.
        if hasPassed, second.hasPassed(first) == true { return nil }
        return !hasPassed
    }

    private static func upTo(
        _ manifest: ExportManifest, _ exports: [ExportFile]
    ) throws(TransferError) -> [ExportFile] {
        guard let index = exports.firstIndex(where: { $0.manifest == manifest }) else {
            throw TransferError(.usage, "--at: none of the exports has this manifest; name its export, too")
        }
        return Array(exports[...index])
    }

    /// The increments with changes after those of the full export, and the others.
    private static func increments(
        _ exports: [ExportFile], after full: ExportFile
    ) -> (later: [ExportFile], superseded: [ExportFile]) {
        var (later, superseded): ([ExportFile], [ExportFile]) = ([], [])
        for file in exports where file.manifest.from != nil {
            if let end = full.manifest.to, let other = file.manifest.to, end == other || end.hasPassed(other) == true,
                file.manifest.from != end
            {
                superseded.append(file)
            } else {
                later.append(file)
            }
        }
        return (later, superseded)
    }

    private static func noFullExport(_ paths: [String], _ limit: Limit?) -> TransferError {
        guard case .time(let limit)? = limit else {
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
        return from == end || end.hasPassed(from) == true
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
