import PostgreSQL
import TestKit
import Testing

/// PgBouncer before the server: it is recognized before anything is made.
@BlockingTests @Suite(.limitedParallelism) struct PoolerTests {
    private nonisolated static let program = InstalledProgram("pgbouncer", requiredBy: "CHANGEBOT_TEST_POOLER")

    @Test(
        .enabled(if: program.isWanted),
        arguments: ["transaction", "statement", "session"], [[], ["ignore_startup_parameters = options"]])
    func poolerIsRefused(mode: String, settings: [String]) throws {
        let path = try #require(Self.program.path, "there is no pgbouncer in PATH: apt-get install pgbouncer")
        let bed = try TestBed()
        let pooler = try TestPooler(path, before: bed.server, mode: mode, settings: settings)
        let error = #expect(throws: PostgresError.self) { try bed.connect(PostgresAddress(pooler.url())) }
        #expect(error?.name == "refused" && error?.sqlState == "08P01", "\(String(describing: error))")
        #expect(error?.description.contains("give the address of PostgreSQL itself") == true)
        let schemas = try bed.connect().run(
            "SELECT count(*) FROM pg_namespace WHERE nspname = '\(bed.settings.schema ?? "")'")
        #expect(schemas.rows[0][0].int == 0)
    }
}
