import Glibc
import Locking
import PostgreSQL
import TestKit
import Testing

@BlockingTests @Suite(.limitedParallelism) struct FaultTests {
    private static func time<Result>(_ body: () throws -> Result) rethrows -> Duration {
        try ContinuousClock().measure { _ = try body() }
    }

    @Test func frozenServerDelaysCallUntilDeadline() throws {
        let server = try TestPostgres()
        let bed = try TestBed(server, deadline: .milliseconds(700))
        let queue = PostgresQueue(bed.address, settings: bed.settings)
        #expect(try queue.performNow { try $0.run("SELECT 1").rows } == [[1]])
        server.freeze()
        let call = Self.time {
            let error = #expect(throws: PostgresError.self) { try queue.performNow { _ = try $0.run("SELECT 2") } }
            #expect(error?.name == "unavailable")
        }
        // Their end alone proves the deadline: the server is stopped.
        #expect(call >= .milliseconds(650))
        let connecting = Self.time {
            let error = #expect(throws: PostgresError.self) { try queue.performNow { _ = try $0.run("SELECT 3") } }
            #expect(error?.name == "unavailable")
        }
        #expect(connecting >= .milliseconds(650))
        server.thaw()
        #expect(try queue.performNow { try $0.run("SELECT 4").rows } == [[4]])
    }

    @Test func frozenServerDelaysPipelineUntilDeadline() throws {
        let server = try TestPostgres()
        let bed = try TestBed(server, deadline: .milliseconds(700))
        let connection = try bed.connect()
        _ = try connection.runEach("SELECT length($1)", [["a"]])
        server.freeze()
        // More than the buffers of both sockets can hold.
        let texts: [[PostgresValue]] = (0..<32).map { _ in [.text(String(repeating: "x", count: 1 << 20))] }
        let error = #expect(throws: PostgresError.self) { try connection.runEach("SELECT length($1)", texts) }
        #expect(error?.name == "unavailable")
        #expect(connection.isBroken)
        server.thaw()
    }

    @Test func killedServerIsUnavailableUntilRestart() throws {
        let server = try TestPostgres()
        let bed = try TestBed(server)
        let queue = PostgresQueue(bed.address, settings: bed.settings)
        #expect(try queue.performNow { try $0.run("SELECT 1").rows } == [[1]])
        server.stop(signal: SIGKILL)
        for _ in 0..<2 {
            let error = #expect(throws: PostgresError.self) { try queue.performNow { _ = try $0.run("SELECT 1") } }
            #expect(error?.name == "unavailable")
        }
        try server.start()
        #expect(try queue.performNow { try $0.run("SELECT 1").rows } == [[1]])
        server.stop(signal: SIGINT)
        let error = #expect(throws: PostgresError.self) { try queue.performNow { _ = try $0.run("SELECT 1") } }
        #expect(error?.name == "unavailable" && error?.sqlState == "57P01")
        try server.start()
        #expect(try queue.performNow { try $0.run("SELECT 1").rows } == [[1]])
        queue.close()
    }

    @Test func tooManyConnectionsAreUnavailable() throws {
        let server = try TestPostgres(settings: ["max_connections=4", "superuser_reserved_connections=0"])
        let bed = try TestBed(server)
        let all = try (0..<4).map { _ in try bed.connect() }
        let error = #expect(throws: PostgresError.self) { try bed.connect() }
        #expect(error?.name == "unavailable" && error?.sqlState == "53300")
        #expect(all.filter(\.isIdle).count == 4)
    }

    @Test func nextHostIsUsedIfFirstIsDownOrSilent() throws {
        let bed = try TestBed(deadline: .seconds(4))
        let silent = try TestServer { $0.waitForClose() }
        for port in [try FreePort.find(), silent.port] {
            let address = try PostgresAddress(
                "postgres://postgres@127.0.0.1:\(port),127.0.0.1:\(bed.server.port)/postgres")
            let connection = try bed.connect(address)
            #expect(connection.host == address.hosts[1])
            #expect(try connection.run("SELECT 1").rows == [[1]])
        }
        let none = try PostgresAddress("postgres://127.0.0.1:\(silent.port),127.0.0.1:\(FreePort.find())/postgres")
        let error = #expect(throws: PostgresError.self) { try bed.connect(none) { $0.deadline = .seconds(1) } }
        #expect(error?.name == "unavailable")
        #expect(error?.reason.contains("; 127.0.0.1:") == true)
    }

    // MARK: - COMMIT

    /// The error, whether the row exists, and whether the connection is broken.
    private static func commit(
        through fault: TestRelay.Fault, readOnly: Bool = false
    ) throws -> (error: PostgresError?, count: Int?) {
        let bed = try TestBed(deadline: .milliseconds(800))
        let table = try bed.withTable()
        let relay = try TestRelay(to: bed.server.port)
        let connection = try bed.connect(bed.address(through: relay))
        #expect(try connection.count == 0)
        relay.when("COMMIT", fault)
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction(readOnly: readOnly) { connection in
                if !readOnly { try connection.run("INSERT INTO t VALUES (1)") }
            }
        }
        #expect(connection.isBroken)
        #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
        return (error, try table.count)
    }

    @Test func commitIsUnknownIfConnectionIsCutBeforeItArrives() throws {
        let (error, count) = try Self.commit(through: .cutBefore)
        #expect(error?.name == "unknownCommit" && count == 0)
    }

    @Test func commitIsUnknownIfConnectionIsCutBeforeAnswer() throws {
        let (error, count) = try Self.commit(through: .cutAfter)
        #expect(error?.name == "unknownCommit" && count == 1)
    }

    @Test func commitIsUnknownIfAnswerIsLate() throws {
        let (error, count) = try Self.commit(through: .dropAnswers)
        #expect(error?.name == "unknownCommit" && count == 1)
        #expect(error?.description.contains("within the deadline") == true)
    }

    @Test func readOnlyTransactionIsNeverUnknown() throws {
        #expect(try Self.commit(through: .cutBefore, readOnly: true).error?.name == "unavailable")
    }

    @Test func cutConnectionInTransactionIsUnavailable() throws {
        let bed = try TestBed()
        let table = try bed.withTable()
        let relay = try TestRelay(to: bed.server.port)
        let connection = try bed.connect(bed.address(through: relay))
        relay.when("INSERT", .cutAfter)
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { _ = try $0.run("INSERT INTO t VALUES (1)") }
        }
        #expect(error?.name == "unavailable")
        // The body catches the error, but it is still thrown: COMMIT is not sent.
        let other = try bed.connect(bed.address(through: relay))
        relay.when("INSERT", .cutAfter)
        let caught = #expect(throws: PostgresError.self) {
            try other.transaction { _ = try? $0.run("INSERT INTO t VALUES (1)") }
        }
        #expect(caught?.name == "unavailable")
        #expect(try table.count == 0)
    }

    @Test func sessionEndedByServerIsUnavailable() throws {
        let bed = try TestBed()
        let connection = try bed.connect()
        try bed.connect().run("SELECT pg_terminate_backend($1)", [.int(connection.processID)])
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
        #expect(error?.name == "unavailable" && error?.sqlState == "57P01")
        #expect(connection.isBroken)
    }

    @Test func idleTransactionIsEndedByServer() throws {
        let bed = try TestBed()
        let table = try bed.withTable()
        let connection = try bed.connect { $0.idleInTransactionTimeout = .milliseconds(100) }
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { connection in
                try connection.run("INSERT INTO t VALUES (1)")
                usleep(400_000)
            }
        }
        #expect(error?.name == "unavailable" && error?.sqlState == "25P03")
        #expect(try table.count == 0)
    }

    // MARK: - Foreign servers

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "E", "N", "S", "", "R\u{0}\u{0}\u{0}\u{8}"])
    func foreignServerIsErrorWithinDeadline(_ answer: String) throws {
        let server = try TestServer { connection in
            try connection.write(answer)
            connection.waitForClose()
        }
        let bed = try TestBed(deadline: .seconds(1))
        let error = #expect(throws: PostgresError.self) {
            try bed.connect(PostgresAddress("postgres://127.0.0.1:\(server.port)/bot"))
        }
        #expect(error?.description.contains("\n") == false)
    }
}
