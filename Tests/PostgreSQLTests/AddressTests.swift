import PostgreSQL
import Testing

@Suite struct AddressTests {
    @Test(
        arguments: [
            ("postgres://db1/bot", "db1:5432", nil),
            ("postgresql://db1:6000/bot", "db1:6000", nil),
            ("postgres://amy@db1/bot", "db1:5432", "amy"),
            ("postgres://a%40b%3Ac@db1/bot", "db1:5432", "a@b:c"),
            ("postgres://db1,db2:6000,10.0.0.3/bot", "db1:5432 db2:6000 10.0.0.3:5432", nil),
            ("postgres://[::1],[fe80::1]:7/bot", "[::1]:5432 [fe80::1]:7", nil),
            ("postgres:///bot?host=/run/postgresql", "/run/postgresql", nil),
            ("postgres://amy@/bot?host=/run/postgresql&port=6000", "/run/postgresql", "amy"),
            ("postgres://%2Frun%2Fpostgresql/bot", "/run/postgresql", nil),
            ("postgres:///bot?host=db1,db2&port=1,2", "db1:1 db2:2", nil),
            ("postgres:///bot?host=db1,[::1]&port=9", "db1:9 [::1]:9", nil),
        ] as [(String, String, String?)])
    func hostsAndUser(_ text: String, _ hosts: String, _ user: String?) throws {
        let address = try PostgresAddress(text)
        #expect(address.hosts.map(\.description).joined(separator: " ") == hosts)
        #expect(address.user == user)
        #expect(address.database == "bot")
        #expect(try PostgresAddress(address.description) == address)
    }

    @Test func databaseNameIsDecoded() throws {
        let address = try PostgresAddress("postgres://db1/my%2Fb%C3%B6t%20%25?sslmode=require")
        #expect(address.database == "my/böt %")
        #expect(address.description == "postgres://db1/my%2Fb%C3%B6t%20%25?sslmode=require")
    }

    @Test(
        arguments: [
            ("db1", .verifyFull, false),
            ("db1,localhost", .verifyFull, false),
            ("localhost", .prefer, false),
            ("LOCALHOST,127.0.0.1,127.8.9.10,[::1]", .prefer, false),
            ("128.0.0.1", .verifyFull, false),
            ("127.example.com", .verifyFull, false),
            ("[::2]", .verifyFull, false),
            ("%2Frun", .prefer, false),
        ] as [(String, PostgresAddress.TLSMode, Bool)])
    func tlsByDefault(_ hosts: String, _ mode: PostgresAddress.TLSMode, _ isUnverified: Bool) throws {
        let address = try PostgresAddress("postgres://\(hosts)/bot")
        #expect(address.tlsMode == mode)
        #expect(address.isUnverified == isUnverified)
    }

    @Test(arguments: PostgresAddress.TLSMode.allCases)
    func weakerModesAreReported(_ mode: PostgresAddress.TLSMode) throws {
        let remote = try PostgresAddress("postgres://db1/bot?sslmode=\(mode.rawValue)")
        #expect(remote.tlsMode == mode)
        #expect(remote.isUnverified == (mode != .verifyFull))
        #expect(try !PostgresAddress("postgres://127.0.0.1/bot?sslmode=\(mode.rawValue)").isUnverified)
    }

    @Test(arguments: [
        "postgres://amy:s3cret@db1/bot", "postgres://:s3cret@db1/bot", "postgres://amy:s3/cr?e#t@db1/bot",
        "postgres://amy:s3cret@x@db1/bot", "postgres://amy@db1/bot?password=s3cret",
        "postgres://amy@db1/bot?PASSWORD=s3cret", "postgres://amy@db1/bot?sslpassword=s3cret",
        "postgres://amy:x?s3cret=y@db1/bot",
    ])
    func passwordsAreRefusedAndNotShown(_ text: String) {
        let error = #expect(throws: PostgresAddressError.self) { try PostgresAddress(text) }
        #expect(error?.description.contains("CHANGEBOT_ENGINE_PASSWORD_FILE") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test(arguments: [
        "", "postgres:", "postgres://", "postgres:///", "postgres://db1", "postgres://db1/", "postgres:///bot",
        "mysql://db1/bot", "postgres://@db1/bot", "postgres://db1,/bot", "postgres://,db1/bot",
        "postgres://db1:/bot", "postgres://db1:0/bot", "postgres://db1:65536/bot", "postgres://db1:+5/bot",
        "postgres://amy:s3cret/bot", "postgres://::1/bot", "postgres://[db1]/bot", "postgres://[::1/bot",
        "postgres://[::1]x/bot", "postgres://[::g]/bot", "postgres://d b/bot", "postgres://db1/a/b",
        "postgres://db1/bot%", "postgres://db1/bot%2", "postgres://db1/bot%+1", "postgres://db1/bot%00",
        "postgres://db1/bot%ff", "postgres://db1/bot%0A", "postgres://db1/bot?sslmode", "postgres://db1/bot?sslmode=",
        "postgres://db1/bot?sslmode=full", "postgres://db1/bot?sslmode=disable&sslmode=require",
        "postgres://db1/bot?host=db2", "postgres://db1/bot?port=1", "postgres:///bot?host=a,b,c&port=1,2",
        "postgres://db1/bot?target_session_attrs=standby", "postgres://db1/bot?options=-c%20x",
    ])
    func malformedAddressesAreRefused(_ text: String) {
        let error = #expect(throws: PostgresAddressError.self) { try PostgresAddress(text) }
        #expect(error?.description.contains("s3cret") == false)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func unknownKeyErrorListsKnownKeys() {
        let error = #expect(throws: PostgresAddressError.self) { try PostgresAddress("postgres://db1/bot?sslmod=x") }
        #expect(error?.description.contains("sslmod;") == true)
        #expect(error?.description.contains("sslmode, sslrootcert") == true)
    }
}
