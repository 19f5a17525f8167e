import Bots
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing
import Transfer

extension BotTestBed {
    /// An entry of `FILE.reasons`.
    struct Rejection: Equatable {
        let line: Int?
        let id: String?
        let reason: String
    }

    /// Uses an embedded gateway with a special configuration.
    static func withEmbedded(
        _ configure: (inout EmbeddedGateway.Configuration) throws -> Void = { _ in }, keyspace: String = "todo",
        _ body: (BotTestBed) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: logger)
            try configure(&configuration)
            try await serve(configuration, keyspace: KeyspaceName(keyspace), in: directory, body)
        }
    }

    func write(_ name: String, bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    func write(_ name: String, _ lines: [String]) throws {
        try write(name, bytes: Array(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// An importer that writes rejected documents to `rejects.ndjson`, replacing those of an earlier import.
    func importer(
        _ name: String, configure: (inout ImportSettings) throws -> Void = { _ in }
    ) throws -> (importer: Importer, report: ImportReport) {
        var settings = ImportSettings()
        settings.path = path(name)
        settings.rejectPath = path("rejects.ndjson")
        settings.progressPath = ImportSettings.progressPath(of: path(name))
        try configure(&settings)
        if !settings.isResuming, let rejects = settings.rejectPath {
            for file in [rejects, rejects + ".reasons"] { try? FileManager.default.removeItem(atPath: file) }
        }
        let report = ImportReport(isDryRun: settings.preview != nil)
        let importer = Importer(
            gateway: Gateway(url, settings: self.settings), settings: settings, report: report, logger: Self.logger)
        return (importer, report)
    }

    @discardableResult
    func load(
        file name: String, configure: (inout ImportSettings) throws -> Void = { _ in }
    ) async throws -> ImportReport.State {
        let (importer, report) = try importer(name, configure: configure)
        try await importer.run()
        return report.state
    }

    /// Writes the lines to a file, and imports it.
    @discardableResult
    func load(
        lines: [String], configure: (inout ImportSettings) throws -> Void = { _ in }
    ) async throws -> ImportReport.State {
        try write("in.ndjson", lines)
        return try await load(file: "in.ndjson", configure: configure)
    }

    /// The output of a dry run, with one line for each document.
    func preview(
        lines: [String], configure: (inout ImportSettings) throws -> Void = { _ in }
    ) async throws -> [JSONText] {
        let said = Locked<[[UInt8]]>([])
        try await load(lines: lines) { settings in
            try configure(&settings)
            settings.preview = { line in said.withLock { $0.append(line) } }
        }
        return try said.withLock { $0 }.map { try JSONText($0) }
    }

    func rejections(_ name: String = "rejects.ndjson") throws -> [Rejection] {
        try lines(name + ".reasons").map { line in
            let root = try JSONText(line).root
            return Rejection(
                line: root["line"]?.integer, id: root["id"]?.string, reason: root["reason"]?.string ?? "")
        }
    }

    /// Why documents were rejected, as a comment for unexpected counts.
    var rejectionReasons: Comment { Comment(rawValue: "\((try? rejections()) ?? [])") }

    /// Ids in the order in which they were last written.
    func idsInOrderOfWriting() async throws -> [String] {
        var answer = try await phone.changes(ChangesRequest())
        var ids: [String] = []
        while let batch = try await answer.next() {
            ids += batch.filter { $0.kind == .document }.map(\.id.text)
        }
        return ids
    }

    /// Each document's content, by its id.
    func contents() async throws -> [DocumentID: String] {
        try await export("contents.ndjson") { $0.isResuming = false }
        let documents = try lines("contents.ndjson").map { try JSONText($0).root }
        return Dictionary(
            uniqueKeysWithValues: documents.map { (DocumentID($0["_id"]?.string ?? ""), content(of: $0)) })
    }

    /// Expects the documents `d0`, `d1` and so on, each written exactly once unless `generation` is higher.
    func expectEachOnce(_ count: Int, generation: Int = 1) async throws {
        let ids = (0..<count).map { DocumentID("d\($0)") }
        for (id, lookup) in zip(ids, try await phone.allDocs(keys: ids)) {
            guard case .found(let revision, _) = lookup else {
                Issue.record("\(id) is not there: \(lookup)")
                continue
            }
            #expect(revision.generation == generation, "\(id)")
        }
    }

    func revision(of id: DocumentID) async throws -> String? { try await stored(id)?.root["_rev"]?.string }
}

extension ImportCounts {
    init(inserted: Int = 0, changed: Int = 0, deleted: Int = 0, unchanged: Int = 0, rejected: Int = 0) {
        self.init()
        self.deleted = deleted
        (self.inserted, self.changed, self.unchanged, self.rejected) = (inserted, changed, unchanged, rejected)
    }
}

/// A document in canonical form, without what each gateway generates: members sorted by name, numbers as they are
/// written, attachments without revision and digest.
func content(of document: JSONValue, keepsRevision: Bool = false) -> String {
    spelling(of: document) { name, value in
        switch name {
        case "_cv": nil
        case "_rev": keepsRevision ? spelling(of: value) : nil
        case "_attachments":
            spelling(of: value) { _, stub in
                // Sync Gateway shows "ver", its storage version of the content, in `_all_docs` only.
                spelling(of: stub) { name, value in
                    ["revpos", "digest", "ver"].contains(name) ? nil : spelling(of: value)
                }
            }
        default: spelling(of: value)
        }
    }
}

private func spelling(of value: JSONValue) -> String {
    switch value.kind {
    case .null, .true, .false, .number: return String(decoding: value.bytes, as: UTF8.self)
    // As ASCII, because Swift considers strings equal that are composed differently.
    case .string: return "\"" + (value.string ?? "").unicodeScalars.map { $0.escaped(asASCII: true) }.joined() + "\""
    case .array: return "[" + value.elements.map { spelling(of: $0) }.joined(separator: ",") + "]"
    case .object: return spelling(of: value) { spelling(of: $1) }
    }
}

private func spelling(of object: JSONValue, _ member: (String, JSONValue) -> String?) -> String {
    var members: [(name: String, value: String)] = []
    for each in object.members {
        guard let value = member(each.name.string ?? "", each.value) else { continue }
        members.append((spelling(of: each.name), value))
    }
    members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    return "{" + members.map { "\($0.name):\($0.value)" }.joined(separator: ",") + "}"
}
