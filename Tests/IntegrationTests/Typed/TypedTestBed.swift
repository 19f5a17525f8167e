import EmbeddedGateway
import Foundation
import GatewayClient
import Logging
import LosslessJSON
import Testing

@testable import TypedDocuments

/// A keyspace for one test, with the client under test and another client.
struct TypedTestBed {
    let keyspace: Keyspace
    /// The other client.
    let other: Gateway
    /// The prefix of this test's ids: on a shared server, other ids may belong to tombstones.
    private let prefix = "\(UUID().uuidString.prefix(8).lowercased())-"

    func id(_ name: String) -> DocumentID { DocumentID(prefix + name) }

    /// The name from which ``id(_:)`` made the id; nil for a document of another test.
    func name(of id: DocumentID) -> String? {
        id.text.hasPrefix(prefix) ? String(id.text.dropFirst(prefix.count)) : nil
    }

    /// Uses the server that the environment names, or else an embedded gateway.
    static func with(_ body: (TypedTestBed) async throws -> Void) async throws {
        if let server = try RealServer.fromEnvironment() {
            return try await server.withKeyspace { try await run($0, server.settings, body) }
        }
        try await withEmbedded({ _ in }, body: body)
    }

    /// Uses an embedded gateway, whatever server the environment names.
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

    /// Uses an embedded gateway that injects faults: `faults` is the list of a fault file.
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

    /// The other client writes a document.
    @discardableResult
    func put(_ name: String, _ members: String, replacing revision: RevisionID? = nil) async throws -> RevisionID {
        let start = revision.map { #""_rev":"\#($0)","# } ?? ""
        return try await other.put(id(name), body: Array("{\(start)\(members)}".utf8))
    }

    /// A document as the gateway stores it.
    func text(_ name: String) async throws -> JSONValue { try #require(try await other.document(id(name))).root }

    func note(_ name: String) async throws -> Note? { try await keyspace.document(id(name), as: Note.self) }
}

/// Swift Testing also has a type of this name.
typealias Attachment = TypedDocuments.Attachment

/// The type that the tests read and write.
struct Note: DocumentCodable, Equatable {
    static let documentType: String? = "note"

    var origin = DocumentOrigin()
    var text: String
    var count: Int?
    var at: Date?
    var labels: [String]?
    var picture: Attachment?
}
