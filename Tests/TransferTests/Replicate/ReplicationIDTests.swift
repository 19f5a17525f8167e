import Testing

@testable import Transfer

@Suite struct ReplicationIDTests {
    private typealias End = ReplicationID.End

    /// - Note: Source: recorded, the `_local` documents of CouchDB 3.5.0.
    @Test(
        arguments: [
            (
                End(address: "http://127.0.0.1:5984/r18src", user: "admin"),
                End(address: "http://127.0.0.1:4871/e", user: nil), "93e579ff205e413b5c6dc70d584921ac"
            ),
            (
                End(address: "http://127.0.0.1:4871/e", user: nil),
                End(address: "http://127.0.0.1:5984/r18dst", user: "admin"), "52780c0b352f83787319a9cc9e0bcd2d"
            ),
        ])
    private func nameMatchesCouchDBsReplicator(source: End, target: End, name: String) {
        #expect(
            ReplicationID.ofCouchDB(server: "fed00aea7aa8e140b1eb8dd6f40cf840", from: source, to: target) == name)
    }

    @Test func embeddedGatewayHasNoCouchDBName() {
        let remote = End(address: "http://127.0.0.1:5984/a", user: nil)
        let file = End(address: "embedded:/tmp/a.sqlite", user: nil)
        #expect(ReplicationID.ofCouchDB(server: "x", from: remote, to: file) == nil)
    }

    @Test func nameDependsOnEndsDirectionAndSelection() {
        let ends = [
            End(address: "http://a/db", user: nil), End(address: "http://b/db", user: nil),
            End(address: "embedded:/c", user: nil),
        ]
        var names: Set<String> = []
        for source in ends {
            for target in ends {
                for selection in ["", "selector {}"] {
                    names.insert(ReplicationID(from: source, to: target, selection: selection).name)
                }
            }
        }
        #expect(names.count == 18)
        #expect(names.allSatisfy { $0.wholeMatch(of: /changebot-replicate-[0-9a-f]{32}/) != nil })
    }
}
