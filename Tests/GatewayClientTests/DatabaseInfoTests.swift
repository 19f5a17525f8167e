import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct DatabaseInfoTests {
    private func database(_ json: String) throws -> DatabaseInfo? {
        DatabaseInfo(try #require(SmallJSON(Array(json.utf8))))
    }

    @Test func syncGatewayInfoIsReadCompletely() throws {
        let info = try #require(
            try database(
                """
                {"db_name":"open","update_seq":5085,"committed_update_seq":5084,"instance_start_time":1795209252375123,
                "compact_running":true,"purge_seq":0,"disk_format_version":0,"state":"Online"}
                """))
        #expect(info.name == "open")
        #expect(info.updateSequence?.description == "5085" && info.committedSequence?.description == "5084")
        #expect(info.instance == "1795209252375123" && info.purgeSequence == "0" && info.diskFormatVersion == 0)
        #expect(info.isCompacting && info.isOnline && info.state == "Online" && !info.isPartitioned)
        #expect(info.documentCount == nil && info.deletedDocumentCount == nil && info.byteCounts == nil)
    }

    @Test func couchDBInfoIsReadCompletely() throws {
        let info = try #require(
            try database(
                """
                {"instance_start_time":"1795208634","db_name":"wiretodo","purge_seq":"0-g1AAB","update_seq":"7-g1AAC",
                "sizes":{"file":16700,"external":12,"active":34},"props":{"partitioned":true},"doc_del_count":2,
                "doc_count":5,"disk_format_version":8,"compact_running":false,"cluster":{"q":2,"n":1,"w":1,"r":1}}
                """))
        #expect(info.updateSequence?.description == #""7-g1AAC""# && info.committedSequence == nil)
        #expect(info.instance == "1795208634" && info.purgeSequence == "0-g1AAB" && info.diskFormatVersion == 8)
        #expect(info.documentCount == 5 && info.deletedDocumentCount == 2 && info.isPartitioned)
        #expect(info.byteCounts == DatabaseInfo.ByteCounts(file: 16700, external: 12, active: 34))
        #expect(!info.isCompacting && info.isOnline && info.state == nil)
    }

    @Test func newestSequenceIsUnknownWhileOffline() throws {
        let info = try #require(try database(#"{"db_name":"open","update_seq":0,"state":"Offline"}"#))
        #expect(!info.isOnline && info.newestSequence == nil && info.updateSequence?.description == "0")
    }

    @Test(arguments: [#"{"update_seq":1}"#, #"{"db_name":5}"#, "[]", "null"])
    func otherAnswersAreNotDatabaseInfo(json: String) throws {
        #expect(try database(json) == nil)
    }

    @Test(
        arguments: [
            (
                #"{"couchdb":"Welcome","version":"3.5.0","uuid":"0123","features":["quickjs"],"vendor":{"name":"The Apache Software Foundation"}}"#,
                GatewayDialect.couchDB, "3.5.0", "0123", ["quickjs"]
            ),
            (
                #"{"couchdb":"Welcome","vendor":{"name":"Couchbase Sync Gateway","version":"4.1"},"version":"Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE","persistent_config":false,"node_uid":"439c"}"#,
                .syncGateway, "Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE", "439c", []
            ),
            (
                #"{"couchdb":"Welcome","vendor":{"name":"Couchbase Sync Gateway","version":"3.3"},"version":"3.3.7"}"#,
                .syncGateway, "3.3.7", nil, []
            ),
        ] as [(String, GatewayDialect, String, String?, [String])])
    func greetingIdentifiesServer(
        body: String, dialect: GatewayDialect, version: String, identity: String?, features: [String]
    ) async throws {
        let scripted = try ScriptedGateway(keyspace: "prefix/todo") { connection, request in
            #expect(request.target == "/prefix/")
            try connection.answer(headers: ["Server: nginx"], body: body)
        }
        let info = try await scripted.gateway.serverInfo()
        #expect(info.dialect == dialect && info.version == version)
        #expect(info.identity == identity && info.features == features)
    }

    @Test func otherServersGreetingIsRefused() async throws {
        let scripted = try ScriptedGateway { connection, _ in try connection.answer(body: #"{"hello":"world"}"#) }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.serverInfo() }
        #expect(error?.code == .malformedAnswer)
    }
}
