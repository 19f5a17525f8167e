import Locking

/// For tests that block: they run serially on their own thread, not on the few threads that all tests share.
@globalActor actor BlockingTests {
    static let shared = BlockingTests()
    private let executor = BlockingExecutor("PostgreSQLTests")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}
