import EmbeddedGateway
import GatewayClient
import LosslessJSON
import TestKit

extension BotTestBed {
    /// A database that keeps conflicts: on a CouchDB if the environment names one, or else on an embedded gateway.
    static func keepingConflicts(_ body: (BotTestBed) async throws -> Void) async throws {
        if try await RealServer.isCouchDB() {
            try await with(countsRevisions: true, body)
        } else {
            try await withFile(body)
        }
    }

    /// The leaves that are not deleted.
    func live(_ id: DocumentID) async throws -> [JSONText] {
        try await phone.openRevisions(of: id).compactMap { leaf in
            guard case .found(let document) = leaf, document.root["_deleted"]?.bool != true else { return nil }
            return document
        }
    }

    static func members(_ document: JSONText?) -> [String: String] {
        var members: [String: String] = [:]
        guard let document else { return [:] }
        for member in document.root.members {
            guard let name = member.name.string, !name.hasPrefix("_") else { continue }
            members[name] = String(decoding: member.value.bytes, as: UTF8.self)
        }
        return members
    }
}
