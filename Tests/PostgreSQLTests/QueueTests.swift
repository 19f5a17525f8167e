import Locking
import PostgreSQL
import TestKit
import Testing

@BlockingTests @Suite(.limitedParallelism) struct QueueTests {
    @Test func connectionIsOpenedAtFirstUse() async throws {
        let server = try TestServer { $0.waitForClose() }
        let queue = PostgresQueue(try PostgresAddress("postgres://127.0.0.1:\(server.port)/bot"))
        queue.close()
        #expect(server.accepted.count == 0)
        await #expect(throws: PostgresError.unavailable(reason: "the connection is closed")) {
            try await queue.perform { try $0.run("SELECT 1") }
        }
    }

    @Test func bodiesRunSerially() async throws {
        let bed = try TestBed()
        _ = try bed.withTable()
        let queue = PostgresQueue(bed.address, settings: bed.settings)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await queue.perform { connection in
                        try connection.transaction { _ = try $0.run("INSERT INTO t VALUES ($1)", [.int(number)]) }
                        return connection.processID
                    }
                }
            }
            var processes: Set<Int> = []
            for try await process in group { processes.insert(process) }
            #expect(processes.count == 1)
        }
        #expect(try queue.performNow { try $0.count } == 50)
    }

    @Test func bodyRunsToEndIfTaskIsCancelled() async throws {
        let bed = try TestBed()
        let queue = PostgresQueue(bed.address, settings: bed.settings)
        let isRunning = EventCounter()
        let task = Task {
            try await queue.perform { connection in
                isRunning.increment()
                return try connection.run("SELECT 1, pg_sleep(0.3)").rows[0][0]
            }
        }
        await isRunning.wait(for: 1)
        task.cancel()
        #expect(try await task.value == 1)
    }

    @Test func openTransactionOfBodyIsNotContinued() async throws {
        let bed = try TestBed()
        _ = try bed.withTable()
        let queue = PostgresQueue(bed.address, settings: bed.settings)
        try await queue.perform { try $0.script("BEGIN; INSERT INTO t VALUES (1)") }
        #expect(try await queue.perform { try $0.count } == 0)
    }

    @Test func passwordIsReadForEachConnection() async throws {
        let bed = try TestBed()
        let asked = EventCounter()
        let queue = PostgresQueue(bed.address, settings: bed.settings) {
            asked.increment()
            return nil
        }
        for _ in 0..<2 {
            _ = try await queue.perform { try $0.run("SELECT 1") }
            try await queue.perform { $0.close() }
        }
        #expect(asked.count == 2)
    }
}
