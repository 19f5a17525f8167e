import Foundation
import GatewayClient
import LosslessJSON
import Testing

/// The server that `CHANGEBOT_TEST_GATEWAY` names: the URL of a keyspace that is there for tests alone.
///
/// `CHANGEBOT_TEST_GATEWAY_USER` and `_PASSWORD` say as whom; `_KIND` is `sync-gateway` or `couchdb`, if the server does
/// not tell. Each test empties the keyspace first, so they run one after the other.
struct RealServer {
    let url: GatewayURL
    let settings: GatewaySettings

    static func fromEnvironment() throws -> RealServer? {
        let environment = ProcessInfo.processInfo.environment
        guard let address = environment["CHANGEBOT_TEST_GATEWAY"], !address.isEmpty else { return nil }
        var settings = GatewaySettings()
        settings.dialect = environment["CHANGEBOT_TEST_GATEWAY_KIND"].flatMap(GatewayDialect.init(rawValue:))
        if let user = environment["CHANGEBOT_TEST_GATEWAY_USER"] {
            let password = environment["CHANGEBOT_TEST_GATEWAY_PASSWORD"] ?? ""
            settings.credentials = .basic(user: user, password: password)
        }
        return RealServer(url: try GatewayURL(address), settings: settings)
    }

    /// Deletes every document.
    func empty(_ gateway: Gateway) async throws {
        var tombstones: [BulkDocument] = []
        var answer = try await gateway.changes(ChangesRequest(includesDocuments: true))
        while let batch = try await answer.next() {
            for change in batch where change.kind == .document {
                guard let id = change.document?["_id"], let revision = change.document?["_rev"] else { continue }
                let body =
                    Array(#"{"_deleted":true,"_id":"#.utf8) + id.bytes + Array(#","_rev":"#.utf8) + revision.bytes
                tombstones.append(BulkDocument(id: change.id, segments: [body, Array("}".utf8)]))
            }
        }
        for start in stride(from: 0, to: tombstones.count, by: 500) {
            _ = try await gateway.bulkDocs(Array(tombstones[start..<min(start + 500, tombstones.count)]))
        }
    }
}
