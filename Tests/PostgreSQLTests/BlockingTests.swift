import Locking

/// For tests that block: they run on a thread of their own, one after the other, and not on the few threads that all
/// tests share.
@globalActor actor BlockingTests {
    static let shared = BlockingTests()
    private let executor = BlockingExecutor("PostgreSQLTests")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}
