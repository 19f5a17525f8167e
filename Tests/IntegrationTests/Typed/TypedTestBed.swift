import EmbeddedGateway
import Foundation
import GatewayClient
import Logging
import LosslessJSON
import Testing

@testable import TypedDocuments

/// A keyspace for one test, and what somebody else would use on it.
struct TypedTestBed {
    let keyspace: Keyspace
    /// Somebody else.
    let other: Gateway
    /// What the ids of this test's documents begin with: on a shared server, others may be tombstones.
    private let prefix = "\(UUID().uuidString.prefix(8).lowercased())-"

    func id(_ name: String) -> DocumentID { DocumentID(prefix + name) }

    /// The name that ``id(_:)`` was made of; nil for a document of another test.
    func name(of id: DocumentID) -> String? {
        id.text.hasPrefix(prefix) ? String(id.text.dropFirst(prefix.count)) : nil
    }

    /// On the embedded gateway, or on the server that the environment names.
    static func with(_ body: (TypedTestBed) async throws -> Void) async throws {
        if let server = try RealServer.fromEnvironment() {
            return try await server.withKeyspace { try await run($0, server.settings, body) }
        }
        try await withEmbedded({ _ in }, body: body)
    }

    /// On the embedded gateway, whatever server the environment names.
    static func withEmbedded(
        _ configure: (inout EmbeddedGateway.Configuration) throws -> Void,
        body: (TypedTestBed) async throws -> Void
    ) async throws {
        var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: Logger(label: "test"))
        try configure(&configuration)
        let embedded = EmbeddedGateway(configuration)
        let url = try GatewayURL(try await embedded.start().url)
        do { try await run(url, GatewaySettings(), body) } catch {
            await embedded.stop()
            throw error
        }
        await embedded.stop()
    }

    /// On the embedded gateway, which injects faults: the list `faults` of a fault file.
    static func withFaults(_ faults: String, _ body: (TypedTestBed) async throws -> Void) async throws {
        try await withEmbedded({ $0.faults = try FaultPlan.parse(Array(#"{"faults":\#(faults)}"#.utf8)) }, body: body)
    }

    private static func run(
        _ url: GatewayURL, _ settings: GatewaySettings, _ body: (TypedTestBed) async throws -> Void
    ) async throws {
        let bed = TypedTestBed(
            keyspace: try Keyspace(url.description, settings: settings), other: Gateway(url, settings: settings))
        try await body(bed)
        await bed.keyspace.shutdown()
        await bed.other.shutdown()
    }

    /// Somebody else writes a document.
    @discardableResult
    func put(_ name: String, _ members: String, replacing revision: RevisionID? = nil) async throws -> RevisionID {
        let start = revision.map { #""_rev":"\#($0)","# } ?? ""
        return try await other.put(id(name), body: Array("{\(start)\(members)}".utf8))
    }

    /// A document as the gateway has it.
    func text(_ name: String) async throws -> JSONValue { try #require(try await other.document(id(name))).root }

    func note(_ name: String) async throws -> Note? { try await keyspace.document(id(name), as: Note.self) }
}

/// Swift Testing has a type of this name, too.
typealias Attachment = TypedDocuments.Attachment

/// What the tests read and write.
struct Note: DocumentCodable, Equatable {
    static let documentType: String? = "note"

    var origin = DocumentOrigin()
    var text: String
    var count: Int?
    var at: Date?
    var labels: [String]?
    var picture: Attachment?
}
