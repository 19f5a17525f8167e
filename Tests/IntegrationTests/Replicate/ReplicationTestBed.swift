import DocumentFlow
import EmbeddedGateway
import GatewayClient
import Logging
import LosslessJSON
import Rules
import Testing
import Transfer

extension BotTestBed {
    /// An embedded gateway that is configured for a replication.
    static func withFile(
        keepsConflicts: Bool = true, _ body: (BotTestBed) async throws -> Void
    ) async throws {
        let configure = { (configuration: inout EmbeddedGateway.Configuration) in
            configuration.allowsConflicts = keepsConflicts
        }
        try await withEmbedded(configure, keyspace: "todo", body)
    }

    /// Two databases: on the server that the environment names or on an embedded gateway, and on an embedded gateway
    /// that keeps conflicts.
    static func withTwo(_ body: (_ server: BotTestBed, _ file: BotTestBed) async throws -> Void) async throws {
        try await with(countsRevisions: true) { server in
            try await withFile { file in try await body(server, file) }
        }
    }

    /// Two embedded gateways. The source keeps conflicts.
    static func withTwoFiles(
        targetKeepsConflicts: Bool = true,
        _ body: (_ source: BotTestBed, _ target: BotTestBed) async throws -> Void
    ) async throws {
        try await withFile { source in
            try await withFile(keepsConflicts: targetKeepsConflicts) { target in
                try await body(source, target)
            }
        }
    }

    var identity: ReplicationID.End { ReplicationID.End(address: url.description, user: nil) }

    func end(_ retries: RetryPolicy.Settings = RetryPolicy.Settings()) -> ReplicationEnd {
        ReplicationEnd(
            Gateway(url, settings: settings), identity: identity,
            contact: GatewayContact(settings: retries, logger: Self.logger))
    }

    /// One replication from this keyspace to another.
    @discardableResult
    func replicate(
        to target: BotTestBed, logger: Logger = Self.logger,
        configure: (inout ReplicationSettings) -> Void = { _ in }
    ) async throws -> ReplicationReport.State {
        var settings = ReplicationSettings()
        configure(&settings)
        let report = ReplicationReport()
        try await Replicator(
            from: end(settings.sourceRetries), to: target.end(settings.targetRetries), settings: settings,
            report: report, logger: logger
        ).run()
        return report.state
    }

    /// A mapping that merges the output of a jq program into each document.
    func mapping(_ name: String, _ program: String) async throws -> Mapping {
        let rules =
            "{version: 1, kind: mapping, rules: [{name: \(name), when: {}, then: [{merge: {jq: '\(program)'}}]}]}"
        try write("\(name).yaml", [rules])
        return try await Mapping.load(paths: [path("\(name).yaml")])
    }

    /// Every leaf of every document with its members and the bytes of its attachments, sorted.
    func leaves() async throws -> [String] {
        var request = ChangesRequest(includesDocuments: false)
        request.listsAllLeaves = true
        var answer = try await phone.changes(request)
        var leaves: [String] = []
        while let batch = try await answer.next() {
            for change in batch where change.kind != .principal {
                for revision in change.revisions { leaves.append(try await leaf(of: change.id, revision)) }
            }
        }
        return leaves.sorted()
    }

    private func leaf(of id: DocumentID, _ revision: RevisionID) async throws -> String {
        let document = try #require(try await phone.document(id, revision: revision, with: [])).root
        var parts = [id.text, revision.text, document["_deleted"]?.bool == true ? "deleted" : "live"]
        for member in document.members where member.name.string?.hasPrefix("_") == false {
            parts.append("\(member.name.string ?? "")=\(String(decoding: member.value.bytes, as: UTF8.self))")
        }
        for name in document["_attachments"]?.members.compactMap(\.name.string).sorted() ?? [] {
            var answer = try #require(try await phone.openAttachment(name, of: id, revision: revision))
            var content: [UInt8] = []
            while let bytes = try await answer.next() { content += bytes }
            parts.append("\(name): \(content.count) \(content.hashValue)")
        }
        return parts.joined(separator: " ")
    }

    /// Stores a revision with its history: `("a", "b a", …)` is `2-b`, after `1-a`.
    func store(_ id: String, _ history: String, _ members: String = "") async throws {
        let digests = history.split(separator: " ").map(String.init)
        let revision = RevisionID("\(digests.count)-\(digests[0])")
        let list = digests.map { "\"\($0)\"" }.joined(separator: ",")
        let body =
            #"{"_id":"\#(id)","_rev":"\#(revision.text)","_revisions":{"start":\#(digests.count),"ids":[\#(list)]}\#(members)}"#
        let document = BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
        let outcomes = try await phone.storeRevisions([RevisionToStore(document, revision: revision)])
        #expect(outcomes == [.written(revision)])
    }
}
