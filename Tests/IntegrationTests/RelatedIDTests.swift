import Bots
import DocumentFlow
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Related documents that a selector names by id are read, not searched.
@Suite(.limitedParallelism(minutes: 10)) struct RelatedIDTests {
    /// A bed that records the targets of all requests of its bots.
    private func with(_ body: (BotTestBed, Locked<[String]>) async throws -> Void) async throws {
        try await BotTestBed.with { bed in
            let requests = Locked<[String]>([])
            var bed = bed
            bed.settings.requestObserver = { record in
                requests.withLock { $0.append("\(record.method) \(record.target)") }
            }
            try await body(bed, requests)
        }
    }

    /// The requests that search: queries, and lists of all documents.
    private func searches(_ requests: Locked<[String]>) -> [String] {
        requests.withLock { $0 }.filter { $0.contains("/_find") || $0.hasPrefix("GET ") && $0.contains("/_all_docs") }
    }

    private func reads(_ requests: Locked<[String]>) -> Int {
        requests.withLock { $0 }.count { $0.hasPrefix("POST ") && $0.contains("/_all_docs") }
    }

    /// Each member of a team gets its name.
    private func rules(_ bed: BotTestBed, selector: String, limit: Int = 100) throws -> RuleSet {
        try bed.rules(
            """
            version: 1
            rules:
              - name: name-members
                when: { type: team }
                then:
                  - related:
                      selector: \(selector)
                      limit: \(limit)
                      then: [{ merge: { team: { jq: $source.name } } }]
            """)
    }

    private func member(_ id: String, _ type: String = "member") -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"\#(type)"}"#)
    }

    private func team(_ id: String, _ members: String) -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"team","name":"\#(id)","members":\#(members),"leader":"m1"}"#)
    }

    private func teams(_ ids: [String], _ bed: BotTestBed) async throws -> [String?] {
        var teams: [String?] = []
        for id in ids { teams.append(try await bed.stored(DocumentID(id))?.root["team"]?.string) }
        return teams
    }

    @Test(arguments: [
        "{ _id: { jq: .leader }, type: member }", "{ _id: { $eq: { jq: .leader } } }",
        "{ _id: { $in: { jq: .members } }, type: member }",
        "{ $and: [{ _id: { $in: { jq: .members } } }, { type: { $regex: '^mem' } }] }",
    ])
    func relatedIDsAreReadWithoutASearch(selector: String) async throws {
        try await with { bed, requests in
            let rules = try rules(bed, selector: selector)
            // One is deleted, one has another type, one does not exist, one is the team itself.
            try await bed.load([
                member("m1"), member("m2", "robot"), member("m3"), member("m4"),
                team("blue", #"["m1","m2","m3","nobody","blue","_design/x","",7,"m1"]"#),
            ])
            let gone = try #require(try await bed.stored("m3")?.root["_rev"]?.string)
            try await bed.load([("m3", #"{"_id":"m3","_rev":"\#(gone)","_deleted":true}"#)])
            #expect(try await bed.runOnce(rules).written == 1)
            #expect(try await teams(["m1", "m2", "m4", "blue"], bed) == ["blue", nil, nil, nil])
            #expect(searches(requests) == [])
        }
    }

    @Test func relatedIDsOfSeveralChangesAreOneRead() async throws {
        try await with { bed, requests in
            let rules = try rules(bed, selector: "{ _id: { $in: { jq: .members } } }")
            try await bed.load((0..<100).map { member("m\($0)") })
            try await bed.load((0..<100).map { team("t\($0)", #"["m\#($0)"]"#) })
            #expect(try await bed.runOnce(rules).written == 100)
            #expect(try await teams(["m0", "m99"], bed) == ["t0", "t99"])
            #expect(searches(requests) == [])
            // Each page is read to find the documents, and again to write them.
            #expect(reads(requests) < 100)
        }
    }

    @Test func noRelatedIDsMeanNoRequest() async throws {
        try await with { bed, requests in
            let rules = try rules(bed, selector: "{ _id: { $in: { jq: .members } } }")
            try await bed.load([member("m1"), team("blue", "[]"), team("red", #"[7,"","_local/x","red"]"#)])
            #expect(try await bed.runOnce(rules).written == 0)
            #expect(searches(requests) == [])
            #expect(reads(requests) == 0)
        }
    }

    @Test func limitCountsMatchingDocuments() async throws {
        try await with { bed, _ in
            let rules = try rules(bed, selector: "{ _id: { $in: { jq: .members } }, type: member }", limit: 2)
            try await bed.load((1...4).map { member("m\($0)") } + [member("r", "robot")])
            try await bed.load([
                team("blue", #"["m1","m2","m3"]"#), team("red", #"["m4","r","nobody","m1"]"#),
            ])
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1)
            #expect(try await teams(["m1", "m2", "m3", "m4"], bed) == ["red", nil, nil, "red"])
        }
    }

    /// Both kinds of search belong to the same changes.
    @Test func ruleMayUseIDsAndSelector() async throws {
        try await with { bed, _ in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: both
                    when: { type: team }
                    then:
                      - related: { selector: { _id: { jq: .leader } }, then: [{ merge: { leads: { jq: $source._id } } }] }
                      - related: { selector: { type: robot, of: { jq: ._id } }, then: [delete: {}] }
                """)
            try await bed.load([member("m1"), team("blue", "[]"), team("red", "[]")])
            try await bed.load([
                ("r1", #"{"_id":"r1","type":"robot","of":"blue"}"#), ("r2", #"{"_id":"r2","type":"robot","of":"red"}"#),
                ("r3", #"{"_id":"r3","type":"robot","of":"green"}"#),
            ])
            let counters = try await bed.runOnce(rules)
            #expect(counters.deleted == 2)
            #expect(try await bed.stored("r3") != nil)
            #expect(try await bed.stored("m1")?.root["leads"]?.string == "red")
        }
    }

    @Test func manyIDsAreReadInParts() async throws {
        try await with { bed, requests in
            let rules = try rules(bed, selector: "{ _id: { $in: { jq: .members } } }", limit: 1000)
            let ids = (0..<600).map { "m\($0)" }
            try await bed.load(ids.map { member($0) })
            try await bed.load([team("blue", "[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]")])
            #expect(try await bed.runOnce(rules).written == 600)
            #expect(searches(requests) == [])
            #expect(reads(requests) < 20)
        }
    }

    @Test func dryRunFindsRelatedIDs() async throws {
        try await with { bed, _ in
            let rules = try rules(bed, selector: "{ _id: { $in: { jq: .members } }, type: member }")
            try await bed.load([member("m1"), member("m2", "robot"), team("blue", #"["m1","m2","nobody"]"#)])
            let lines = try await bed.preview(rules)
            let effect = try #require(try JSONText(lines[0]).root["effects"].flatMap { Array($0.elements).first })
            #expect(effect["found"]?.integer == 1)
            #expect(effect["documents"].flatMap { Array($0.elements).first }?["id"]?.string == "m1")
        }
    }
}
