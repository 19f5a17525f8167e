import PostgreSQL
import TestKit
import Testing

@BlockingTests @Suite(.limitedParallelism) struct ErrorTests {
    @Test func statementErrorsAreClassified() throws {
        let connection = try TestBed().withTable()
        try connection.run("INSERT INTO t VALUES (1, 'secret')")
        let cases: [(sql: String, state: String)] = [
            ("INSERT INTO t VALUES (1, 'secret')", "23505"), ("SELEC 'secret'", "42601"),
            ("SELECT 'secret' FROM missing", "42P01"), ("SELECT 1, 'secret' WHERE 1 / 0 = 1", "22012"),
        ]
        for (sql, state) in cases {
            let error = #expect(throws: PostgresError.self) { try connection.run(sql) }
            #expect(error?.name == "refused")
            #expect(error?.sqlState == state)
            #expect(error?.description.contains("secret") == false)
            #expect(error?.description.contains("\n") == false)
            #expect(connection.isIdle)
        }
        #expect(try connection.count == 1)
    }

    @Test(arguments: [
        ("40001", "conflict"), ("40P01", "conflict"), ("55P03", "conflict"), ("53100", "full"), ("53200", "full"),
        ("53300", "unavailable"), ("57P03", "unavailable"), ("08006", "unavailable"), ("57014", "unavailable"),
        ("28000", "refused"), ("P0001", "refused"),
    ])
    func errorStatesAreClassified(_ state: String, _ name: String) throws {
        let connection = try TestBed().connect()
        let error = #expect(throws: PostgresError.self) {
            try connection.script("DO $$ BEGIN RAISE EXCEPTION 'words' USING ERRCODE = '\(state)'; END $$")
        }
        #expect(error?.name == name && error?.sqlState == state)
        #expect(error?.reason.hasPrefix("words") == true)
        #expect(error?.description.contains("(SQLSTATE \(state))") == true)
    }

    @Test func heldLockIsConflict() throws {
        let bed = try TestBed()
        let holder = try bed.withTable()
        try holder.run("INSERT INTO t VALUES (1)")
        let other = try bed.connect { $0.lockTimeout = .milliseconds(200) }
        try holder.transaction { holder in
            try holder.run("UPDATE t SET value = 'a'")
            let error = #expect(throws: PostgresError.self) { try other.run("UPDATE t SET value = 'b'") }
            #expect(error?.name == "conflict" && error?.sqlState == "55P03")
        }
        #expect(other.isIdle)
    }

    @Test func readOnlyServerIsUnavailable() throws {
        let bed = try TestBed()
        let connection = try bed.withTable()
        try connection.script("SET default_transaction_read_only = on")
        let error = #expect(throws: PostgresError.self) { try connection.run("INSERT INTO t VALUES (1)") }
        #expect(error?.name == "unavailable" && error?.sqlState == "25006")
        #expect(connection.isBroken)

        let name = bed.server.uniqueName("readonly")
        try bed.server.createDatabase(name)
        try bed.connect().script("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        let refusal = #expect(throws: PostgresError.self) {
            try bed.connect(try PostgresAddress(bed.server.url(name)))
        }
        #expect(refusal?.name == "unavailable" && refusal?.sqlState == "25006")
        let reader = try bed.connect(PostgresAddress(bed.server.url(name, query: "?target_session_attrs=any")))
        #expect(try reader.run("SELECT 1").rows == [[1]])
    }

    @Test func refusedLoginIsReported() throws {
        let bed = try TestBed()
        let role = bed.server.uniqueName("amy")
        let admin = try bed.connect()
        try admin.script(
            """
            DO $$ BEGIN CREATE ROLE with_password; EXCEPTION WHEN duplicate_object THEN END $$;
            CREATE ROLE \(role) LOGIN PASSWORD 'right' IN ROLE with_password
            """)
        func connect(_ password: String?) throws(PostgresError) -> PostgresConnection {
            try PostgresConnection(bed.address, password: password, user: role, settings: bed.settings)
        }
        #expect(try connect("right").run("SELECT current_user").rows == [[.text(role)]])
        let wrong = #expect(throws: PostgresError.self) { try connect("wr0ng") }
        #expect(wrong?.name == "refused" && wrong?.sqlState == "28P01")
        #expect(wrong?.description.contains("CHANGEBOT_ENGINE_PASSWORD") == true)
        #expect(wrong?.description.contains("wr0ng") == false)
        let missing = #expect(throws: PostgresError.self) { try connect(nil) }
        #expect(missing?.name == "refused")
        #expect(missing?.description.contains("CHANGEBOT_ENGINE_PASSWORD_FILE") == true)
    }

    @Test func missingDatabaseIsReported() throws {
        let bed = try TestBed()
        let error = #expect(throws: PostgresError.self) { try bed.connect(PostgresAddress(bed.server.url("nowhere"))) }
        #expect(error?.name == "refused" && error?.sqlState == "3D000")
        #expect(error?.description.hasPrefix("PostgreSQL refused: 127.0.0.1:") == true)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func unusedPortIsUnavailable() throws {
        let bed = try TestBed()
        let port = try FreePort.find()
        let error = #expect(throws: PostgresError.self) {
            try bed.connect(PostgresAddress("postgres://127.0.0.1:\(port)/bot"))
        }
        #expect(error == .unavailable(reason: "127.0.0.1:\(port): Connection refused"))
        let socket = #expect(throws: PostgresError.self) {
            try bed.connect(PostgresAddress("postgres:///bot?host=/nowhere"))
        }
        #expect(socket == .unavailable(reason: "/nowhere: No such file or directory"))
    }

    @Test func unresolvableNameIsReported() throws {
        let error = #expect(throws: PostgresError.self) {
            try TestBed(deadline: .seconds(2)).connect(PostgresAddress("postgres://nowhere.invalid/bot"))
        }
        #expect(error?.name == "unavailable")
        #expect(error?.reason.hasPrefix("nowhere.invalid: ") == true)
    }

    @Test func closedConnectionFailsEachCall() throws {
        let connection = try TestBed().connect()
        connection.close()
        #expect(connection.isBroken && !connection.isIdle)
        let expected = PostgresError.unavailable(reason: "the connection is closed")
        #expect(throws: expected) { try connection.run("SELECT 1") }
        #expect(throws: expected) { try connection.runEach("SELECT 1", [[]]) }
        #expect(throws: expected) { try connection.script("SELECT 1") }
        #expect(throws: expected) { try connection.transaction { _ in } }
    }

    @Test func identifiersAreQuoted() {
        #expect(PostgresConnection.quotedIdentifier("a\"B c") == "\"a\"\"B c\"")
        #expect(PostgresConnection.quotedIdentifier("") == "\"\"")
    }
}
