import PostgreSQL
import TestKit
import Testing

@BlockingTests @Suite(.limitedParallelism) struct TransactionTests {
    struct Stop: Error {}

    @Test func transactionIsCommittedOrRolledBack() throws {
        let connection = try TestBed().withTable()
        let value = try connection.transaction { connection in
            #expect(!connection.isIdle)
            try connection.run("INSERT INTO t VALUES (1)")
            return "done"
        }
        #expect(value == "done")
        #expect(throws: Stop.self) {
            try connection.transaction { connection in
                try connection.run("INSERT INTO t VALUES (2)")
                throw Stop()
            }
        }
        #expect(try connection.run("SELECT id FROM t").rows == [[1]])
        #expect(connection.isIdle)
    }

    @Test func caughtErrorIsNotCommitted() throws {
        let connection = try TestBed().withTable()
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { connection in
                try connection.run("INSERT INTO t VALUES (1)")
                _ = try? connection.run("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error?.sqlState == "23505")
        #expect(try connection.count == 0)
    }

    @Test func deferredConstraintRollsBack() throws {
        let connection = try TestBed().withTable()
        try connection.script("CREATE TABLE u (id integer REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { _ = try $0.run("INSERT INTO u VALUES (1)") }
        }
        #expect(error?.name == "refused" && error?.sqlState == "23503")
        #expect(connection.isIdle)
    }

    @Test func readOnlyTransactionRefusesWrites() throws {
        let connection = try TestBed().withTable()
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction(readOnly: true) { _ = try $0.run("INSERT INTO t VALUES (1)") }
        }
        #expect(error?.name == "refused" && error?.sqlState == "25006")
        #expect(try connection.transaction(readOnly: true) { try $0.count } == 0)
    }

    @Test func transactionMayHaveMoreTimeThanCall() throws {
        let connection = try TestBed(deadline: .milliseconds(300)).connect()
        let rows = try connection.transaction(deadline: .seconds(20)) { try $0.run("SELECT 1, pg_sleep(0.6)").rows }
        #expect(rows == [[1, nil]])
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT pg_sleep(8)") }
        #expect(error?.name == "unavailable")
        // A busy server may end the statement too late for the answer.
        #expect(error?.sqlState == "57014" ? connection.isIdle : connection.isBroken)
    }

    @Test func transactionMayHaveLessTimeThanCall() throws {
        let connection = try TestBed().connect()
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction(deadline: .milliseconds(300)) { _ = try $0.run("SELECT pg_sleep(8)") }
        }
        #expect(error?.name == "unavailable")
        #expect(connection.isBroken)
    }
}
