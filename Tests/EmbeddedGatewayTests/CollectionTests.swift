import GRDB
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

@Suite(.limitedParallelism) struct CollectionTests {
    private func gateway() async throws -> TestGateway {
        try await TestGateway(database: "open", collections: ["_default._default", "_default.lists", "shop.tasks"])
    }

    @Test func collectionsHaveSeparateDocuments() async throws {
        let gateway = try await gateway()
        for (keyspace, value) in [("open", 1), ("open.lists", 2), ("open.shop.tasks", 3)] {
            #expect(try await gateway.answer("PUT", "/\(keyspace)/a", "{\"v\":\(value)}").status == 201)
        }
        for (keyspace, value) in [("open._default._default", 1), ("open._default.lists", 2), ("open.shop.tasks", 3)] {
            #expect(try await gateway.answer("GET", "/\(keyspace)/a").text.hasSuffix("\"v\":\(value)}"))
            let list = try await gateway.answer("GET", "/\(keyspace)/_all_docs").text
            #expect(list.contains(#""total_rows":1,"update_seq":4"#))
        }
    }

    @Test func sequencesAreShared() async throws {
        let gateway = try await gateway()
        for (keyspace, id) in [("open", "a"), ("open.lists", "b"), ("open", "c")] {
            _ = try await gateway.answer("PUT", "/\(keyspace)/\(id)", "{}")
        }
        let rows = { (keyspace: String) in
            let answer = try await gateway.answer("GET", "/\(keyspace)/_changes?since=1")
            return SmallJSON(answer.bytes)?["results"]?.elements?.compactMap { $0["seq"]?.integer } ?? []
        }
        #expect(try await rows("open") == [2, 4])
        #expect(try await rows("open.lists") == [3])
        #expect(try await rows("open.shop.tasks") == [])
    }

    @Test func localDocumentsBelongToTheirCollection() async throws {
        let gateway = try await gateway()
        #expect(try await gateway.answer("PUT", "/open.lists/_local/x", #"{"v":1}"#).status == 201)
        #expect(try await gateway.answer("GET", "/open/_local/x").status == 404)
        #expect(try await gateway.answer("PUT", "/open/_local/x", #"{"v":2}"#).status == 201)
        #expect(try await gateway.answer("DELETE", "/open/_local/x?rev=0-1").status == 200)
        #expect(
            try await gateway.answer("GET", "/open.lists/_local/x").text == #"{"_id":"_local/x","_rev":"0-1","v":1}"#)
    }

    @Test func channelsAreFilteredPerCollection() async throws {
        let gateway = try await gateway()
        for (keyspace, id) in [("open", "a"), ("open.lists", "b")] {
            _ = try await gateway.answer("PUT", "/\(keyspace)/\(id)", #"{"channels":"A"}"#)
        }
        let query = "_changes?filter=sync_gateway/bychannel&channels=A&since=1"
        #expect(try await gateway.answer("GET", "/open.lists/\(query)").text.contains(#""last_seq":"3""#))
        #expect(try await gateway.answer("GET", "/open/\(query)").text.contains(#""last_seq":"2""#))
    }

    @Test func channelsAreGrantedPerCollection() async throws {
        let gateway = try await gateway()
        var users = EmbeddedGateway.Users()
        users.guest = .init(channels: ["A"])
        users.guest.channels.byCollection["_default.lists"] = ["B"]
        try await gateway.router.accounts.replace(with: users)
        for keyspace in ["open", "open.lists", "open.shop.tasks"] {
            for id in ["A", "B"] {
                #expect(try await gateway.answer("PUT", "/\(keyspace)/\(id)", "{\"channels\":\"\(id)\"}").status == 201)
            }
        }
        for (keyspace, statuses) in [
            ("open", [200, 403]), ("open.lists", [403, 200]), ("open.shop.tasks", [403, 403]),
        ] {
            var found: [Int] = []
            for id in ["A", "B"] { found.append(try await gateway.answer("GET", "/\(keyspace)/\(id)").status) }
            #expect(found == statuses)
        }
        let session = try await gateway.answer("GET", "/open/_session").text
        #expect(session.contains(#""channels":{"!":1,"A":1}"#))
    }

    @Test func usersFileMayListTheCollections() async throws {
        let file = #"{"databases":{"todo":{"scopes":{"s":{"collections":{"c":{}}}},"guest":{"disabled":false}}}}"#
        var configuration = EmbeddedGateway.Configuration(logger: .quiet)
        configuration.users = try EmbeddedGateway.Users.parse(Array(file.utf8), database: "todo")
        let gateway = EmbeddedGateway(configuration)
        let address = try await gateway.start()
        try await RawConnection.with(port: address.port) { connection in
            try await connection.get("/todo/_changes")
            #expect(try await connection.readAnswer().body.contains("keyspace todo not found"))
            try await connection.get("/todo.s.c/_changes")
            #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 200"))
        }
        await gateway.stop()
    }

    @Test(arguments: ["open.", "open..lists", "open.nope", "open.shop.lists", "open._default.lists.x"])
    func unknownKeyspaceIsReported(keyspace: String) async throws {
        let answer = try await gateway().answer("GET", "/\(keyspace)/a")
        #expect(answer.text == #"{"error":"not_found","reason":"keyspace \#(keyspace) not found"}"#)
    }

    @Test func fileKeepsItsCollections() async throws {
        try await withTemporaryFile { path in
            for _ in 0..<2 {
                let store = try Store(.file(path))
                let keys = [
                    try await store.collection("a.b").collection,
                    try await store.collection("_default._default").collection,
                ]
                #expect(keys == [1, 0])
                try store.close()
            }
        }
    }

    @Test func invalidCollectionNameIsRefused() async throws {
        var configuration = EmbeddedGateway.Configuration(logger: .quiet)
        configuration.collections = ["a.b", "c/d"]
        let error = await #expect(throws: EmbeddedGatewayError.self) {
            try await EmbeddedGateway(configuration).start()
        }
        #expect(error?.code == .invalidName)
    }
}
