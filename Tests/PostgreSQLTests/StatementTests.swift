import PostgreSQL
import TestKit
import Testing

@BlockingTests @Suite(.limitedParallelism) struct StatementTests {
    @Test func valuesRoundTrip() throws {
        let connection = try TestBed().connect()
        let all = Array(UInt8.min...UInt8.max)
        let texts = ["", "a", "\u{1}\n\\'\"", "Grüße 🥦 e\u{301}", "{1,2}", String(repeating: "x", count: 100_000)]
        for number in [Int.min, -1, 0, 1, Int.max] {
            #expect(try connection.run("SELECT $1::bigint", [.int(number)]).rows == [[.int(number)]])
        }
        for text in texts {
            #expect(try connection.run("SELECT $1::text", [.text(text)]).rows == [[.text(text)]])
        }
        for bytes in [[], [0], all + all, [UInt8](repeating: 0, count: 100_000)] {
            #expect(try connection.run("SELECT $1::bytea", [.bytes(bytes)]).rows == [[.bytes(bytes)]])
        }
        for number in [0, -0.0, 1e-300, .pi, .infinity, -.infinity, Double.leastNonzeroMagnitude] {
            #expect(try connection.run("SELECT $1::float8", [.double(number)]).rows == [[.double(number)]])
        }
        #expect(try connection.run("SELECT $1::float8", [.double(.nan)]).rows[0][0].double?.isNaN == true)
        let values: [PostgresValue] = [.null, .int(-5), .null, .text("x"), .bytes([0])]
        let row = try connection.run("SELECT $1::bytea, $2::int, $3::text, $4::text, $5::bytea", values).rows[0]
        #expect(row == values)
    }

    @Test func columnsAreDecodedByType() throws {
        let connection = try TestBed().connect()
        let result = try connection.run(
            """
            SELECT true AS a, false, -3::smallint, 7::integer, 'n'::name, 'v'::varchar(9), 'c'::char(3), '{"a":1}'::json,
                0.5::real, 26::oid, 'u', pg_sleep(0) AS z
            """)
        let expected: [PostgresValue] = [1, 0, -3, 7, "n", "v", "c  ", #"{"a":1}"#, .double(0.5), 26, "u", nil]
        // A function without a result returns an empty value, not NULL.
        #expect(result.rows == [expected])
        #expect(result.columns.first == "a" && result.columns.last == "z")
        #expect(result.affected == 1)
    }

    @Test func unknownTypeErrorNamesColumn() throws {
        let connection = try TestBed().connect()
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT now() AS moment") }
        #expect(error?.name == "badAnswer")
        #expect(error?.description.contains("column moment") == true)
        #expect(try connection.run("SELECT 1").rows == [[1]])
    }

    @Test func statementDeterminesParameterType() throws {
        let connection = try TestBed().connect()
        #expect(try connection.run("SELECT sum(x) FROM unnest($1::smallint[]) x", ["{1,2}"]).rows == [[3]])
        #expect(try connection.run("SELECT $1", [5]).rows == [["5"]])
        #expect(try connection.run("SELECT 1 WHERE 2 > $1", [1]).rows == [[1]])
    }

    @Test func affectedRowsAreCounted() throws {
        let connection = try TestBed().withTable()
        #expect(try connection.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')").affected == 2)
        #expect(try connection.run("UPDATE t SET value = $1 WHERE id = $2", ["c", 9]).affected == 0)
        #expect(try connection.run("UPDATE t SET value = $1 WHERE id = $2", ["c", 2]).affected == 1)
        #expect(try connection.run("SELECT value FROM t ORDER BY id").rows == [["a"], ["c"]])
        #expect(try connection.run("DELETE FROM t").affected == 2)
    }

    @Test func sessionMatchesSettings() throws {
        let bed = try TestBed()
        let connection = try bed.connect { settings in
            settings.lockTimeout = .milliseconds(1500)
            settings.idleInTransactionTimeout = .seconds(20)
        }
        func setting(_ name: String) throws -> String? {
            try connection.run("SELECT current_setting($1)", [.text(name)]).rows[0][0].text
        }
        #expect(try setting("application_name") == "changebot")
        #expect(try setting("client_encoding") == "UTF8")
        #expect(try setting("statement_timeout") == "9s")
        #expect(try setting("lock_timeout") == "1500ms")
        #expect(try setting("idle_in_transaction_session_timeout") == "20s")
        #expect(try setting("TimeZone") == "UTC")
        #expect(try setting("transaction_isolation") == "read committed")
        let schema = PostgresConnection.quotedIdentifier(bed.settings.schema ?? "")
        #expect(try setting("search_path") == schema)
        #expect(try connection.run("SELECT pg_backend_pid()").rows == [[.int(connection.processID)]])
    }

    @Test func unixSocketWorks() throws {
        let bed = try TestBed()
        let address = try PostgresAddress(
            "postgres://postgres@/postgres?host=\(bed.server.socketFolder)&port=\(bed.server.port)")
        #expect(try bed.connect(address).run("SELECT inet_server_port()").rows == [[nil]])
    }

    @Test func hostNameIsResolved() throws {
        let bed = try TestBed()
        let address = try PostgresAddress("postgres://postgres@localhost:\(bed.server.port)/postgres")
        #expect(try bed.connect(address).run("SELECT 1").rows == [[1]])
    }

    @Test func statementsAbovePreparedLimitWork() throws {
        let connection = try TestBed().connect()
        for number in 0..<320 {
            #expect(try connection.run("SELECT $1::int + \(number)", [1]).rows == [[.int(number + 1)]])
        }
        #expect(try connection.run("SELECT count(*) FROM pg_prepared_statements").rows == [[300]])
        let results = try connection.runEach("SELECT $1::int + 1000", [[1], [2]])
        #expect(results.map(\.rows) == [[[1001]], [[1002]]])
    }

    @Test func statementIsPreparedAgainAfterTableChange() throws {
        let connection = try TestBed().withTable()
        try connection.run("INSERT INTO t VALUES (1, 'a')")
        #expect(try connection.run("SELECT * FROM t").rows == [[1, "a"]])
        try connection.script("ALTER TABLE t ADD more integer")
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT * FROM t") }
        #expect(error?.sqlState == "0A000")
        #expect(try connection.run("SELECT * FROM t").rows == [[1, "a", nil]])
    }

    @Test func noticesAreDropped() throws {
        let connection = try TestBed().connect()
        try connection.script("DO $$ BEGIN RAISE NOTICE 'hello'; RAISE WARNING 'hello'; END $$")
    }

    @Test func textWithNULIsNotSent() throws {
        let connection = try TestBed().withTable()
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT $1::text", ["a\0b"]) }
        #expect(error?.name == "refused")
        #expect(error?.description.contains("U+0000") == true)
        try connection.transaction { connection in
            let error = #expect(throws: PostgresError.self) {
                try connection.runEach("INSERT INTO t VALUES ($1, $2)", [[1, "a"], [2, "\0"], [3, "b"]])
            }
            #expect(error?.name == "refused")
        }
        #expect(connection.isIdle)
        // Nothing was sent, although the caller continued.
        #expect(try connection.count == 0)
    }

    @Test func copyingIsRefused() throws {
        let bed = try TestBed()
        let connection = try bed.withTable()
        let error = #expect(throws: PostgresError.self) { try connection.script("COPY t FROM STDIN") }
        #expect(error?.name == "badAnswer")
        #expect(connection.isBroken)
    }

    // MARK: - Pipelines

    @Test func tenThousandInsertsSucceed() throws {
        let connection = try TestBed().withTable()
        let rows: [[PostgresValue]] = (0..<10_000).map { [.int($0), .text("value \($0)")] }
        let results = try connection.transaction { try $0.runEach("INSERT INTO t VALUES ($1, $2)", rows) }
        #expect(results.filter { $0.affected == 1 }.count == 10_000)
        #expect(try connection.count == 10_000)
        let read = try connection.runEach("SELECT value FROM t WHERE id = $1", rows.map { [$0[0]] })
        #expect(read.map { $0.rows[0] } == rows.map { [$0[1]] })
    }

    @Test func largeValuesInBothDirectionsDoNotBlock() throws {
        let connection = try TestBed().connect()
        let text = String(repeating: "x", count: 300_000)
        let results = try connection.runEach(
            "SELECT $1::text || $2::text", (0..<100).map { [.text(text), .text("\($0)")] })
        #expect(results.count == 100 && results[99].rows == [[.text(text + "99")]])
    }

    @Test func tooManyParametersAreRefused() throws {
        let connection = try TestBed().connect()
        let values = [PostgresValue](repeating: 1, count: 70_000)
        let error = #expect(throws: PostgresError.self) { try connection.run("SELECT $1::int", values) }
        #expect(error?.name == "refused")
        #expect(try connection.run("SELECT $1::int", [1]).rows == [[1]])
        let second = #expect(throws: PostgresError.self) { try connection.runEach("SELECT $1::int", [[1], values]) }
        #expect(second?.name == "refused")
    }

    @Test func pipelineErrorIsThrownAndConnectionStaysUsable() throws {
        let connection = try TestBed().withTable()
        let rows: [[PostgresValue]] = (0..<1500).map { [.int($0 == 1200 ? 7 : $0), "x"] }
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { try $0.runEach("INSERT INTO t VALUES ($1, $2)", rows) }
        }
        #expect(error?.sqlState == "23505")
        #expect(connection.isIdle)
        #expect(try connection.count == 0)
        #expect(try connection.runEach("INSERT INTO t VALUES ($1, $2)", []).isEmpty)
    }
}
