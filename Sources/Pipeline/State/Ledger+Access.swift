internal import GRDB

// Access to the database for the rest of the ledger.
//
// Errors: ``StateError``; then nothing was written, and a retry may succeed if the disk was full.
extension Ledger {
    func read<Value>(_ body: (Database) throws -> Value) throws(StateError) -> Value {
        do { return try database.read(body) } catch { throw .reading(path, error) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StateError) -> Value {
        do { return try await shielded { try await $0.read(body) } } catch { throw .reading(path, error) }
    }

    /// Nil in a preview, where nothing is written.
    @discardableResult
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StateError) -> Value? {
        guard access != .preview else { return nil }
        do { return try await shielded { try await $0.write(body) } } catch { throw .writing(path, error) }
    }

    /// Runs in a task of its own, so that cancelling the run does not cancel a write.
    private func shielded<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseQueue) async throws -> Value
    ) async throws -> Value {
        try await Task { [database] in try await body(database) }.value
    }
}
