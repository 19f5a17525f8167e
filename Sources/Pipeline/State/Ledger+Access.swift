internal import GRDB

// How the rest of the ledger reads and writes.
extension Ledger {
    func read<Value>(_ body: (Database) throws -> Value) throws(StateError) -> Value {
        do { return try database.read(body) } catch { throw .reading(path, error) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StateError) -> Value {
        do { return try await shielded { try await $0.read(body) } } catch { throw .reading(path, error) }
    }

    /// Nil in a preview, where nothing is remembered.
    @discardableResult
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StateError) -> Value? {
        guard access != .preview else { return nil }
        do { return try await shielded { try await $0.write(body) } } catch { throw .writing(path, error) }
    }

    /// What is to be remembered is remembered even if the run is being cancelled: a task of its own, waited for.
    private func shielded<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseQueue) async throws -> Value
    ) async throws -> Value {
        try await Task { [database] in try await body(database) }.value
    }
}
