package import DocumentFlow
package import GatewayClient
package import Logging
internal import ServiceLifecycle

/// Visits all databases that match, one after the other, for a command that ends by itself.
///
/// A database that can't be used is named in the log and skipped.
package struct DatabaseWalk: Sendable {
    private let directory: any DatabaseDirectory
    private let patterns: DatabasePatterns
    private let retries: RetryPolicy.Settings
    private let logger: Logger

    /// - Parameters:
    ///   - gateway: Any keyspace of the server.
    ///   - retries: How the list of databases is retried.
    package init(_ gateway: Gateway, _ patterns: DatabasePatterns, retries: RetryPolicy.Settings, logger: Logger) {
        (directory, self.patterns) = (gateway.directory(for: patterns), patterns)
        (self.retries, self.logger) = (retries, logger)
    }

    /// The names of the databases that match, sorted.
    ///
    /// - Throws: `RunError`: `.databaseMissing` if there is none; `CancellationError`.
    package func names() async throws -> [String] {
        let contact = GatewayContact(settings: retries, logger: logger)
        let names = try await contact.askFirst { try await directory.names() }
            .filter { patterns.matches($0) && (try? directory.gateway($0)) != nil }.sorted()
        guard !names.isEmpty else {
            throw RunError(.databaseMissing, "none of the \(directory.what) matches: \(patterns)")
        }
        return names
    }

    /// Calls `body` for each database, until a graceful shutdown.
    ///
    /// - Parameter body: Returns whether to go on with the next database.
    /// - Throws: ``DatabaseFailures`` if `body` has failed for a database; `RunError` as ``names()``, and
    ///   `.tooManyErrors`; `CancellationError`.
    package func visit(_ body: (_ name: String, _ gateway: Gateway) async throws -> Bool) async throws {
        let names = try await names()
        var failures: [(name: String, error: any Error)] = []
        for name in names where !Task.isAskedToStop {
            do {
                guard try await body(name, directory.gateway(name)) else { break }
            } catch let error as RunError where error.code == .tooManyErrors {
                throw error
            } catch let error as CancellationError {
                throw error
            } catch {
                failures.append((name, error))
                logger.warning(
                    "a database is skipped", metadata: [LogKey.database: "\(name)", LogKey.reason: "\(error)"])
            }
        }
        guard !failures.isEmpty else { return }
        throw DatabaseFailures(failures: failures, total: names.count, what: directory.what)
    }
}
