import Encodings
import Foundation
import PostgreSQL
import TestKit

@testable import BotState

/// With `CHANGEBOT_TEST_ENGINE=postgres`, the bots of all tests here keep their states in PostgreSQL.
enum TestEngine {
    static let isUsedByAllTests = ProcessInfo.processInfo.environment["CHANGEBOT_TEST_ENGINE"] == "postgres"

    /// The engine that replaces a state folder; nil unless all tests use one.
    static func instead(of directory: String) throws -> Engine? {
        guard isUsedByAllTests else { return nil }
        return try make(fleet: "f" + Digest.sha256.hex(Array(directory.utf8)).prefix(20))
    }

    static func make(fleet: String, lease: Duration = Engine.defaultLease) throws -> Engine {
        Engine(try PostgresAddress(TestPostgres.shared.url()), fleet: fleet, lease: lease)
    }
}
