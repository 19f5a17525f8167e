import GatewayClient
import TestKit
import Testing

@testable import TypedDocuments

/// Typed documents on a gateway that fails.
@Suite(.limitedParallelism) struct TypedFaultTests {
    private static let cuts = #"[{"on":"_changes","cut":500,"times":3}]"#
    private static let names = (0..<20).map { "n\($0)" }

    private func load(_ bed: TypedTestBed) async throws {
        for name in Self.names { try await bed.put(name, #""type":"note","text":"\#(name)""#) }
    }

    @Test func feedContinuesAfterACut() async throws {
        try await TypedTestBed.withFaults(Self.cuts) { bed in
            try await load(bed)
            var missing = Set(Self.names)
            for try await change in bed.keyspace.changes(as: Note.self) {
                if case .document(let note) = change.content { missing.remove(note.text) }
                if missing.isEmpty { break }
            }
            #expect(missing.isEmpty)
        }
    }

    @Test func liveQueryDeliversEachDocumentOnce() async throws {
        try await TypedTestBed.withFaults(#"[{"on":"_changes","cut":500,"times":3},{"rewind":10,"times":5}]"#) { bed in
            try await load(bed)
            var told: [String] = []
            loop: for try await change in bed.keyspace.live(as: Note.self) {
                switch change {
                case .inserted(let note): told.append(note.text)
                case .upToDate: break loop
                default: Issue.record("\(change)")
                }
            }
            #expect(told.sorted() == Self.names.sorted())
        }
    }

    @Test func writeWithALostAnswerIsRecognized() async throws {
        try await TypedTestBed.withFaults(
            #"""
            [{"on":"document","method":"PUT","drop":"after","times":1},
             {"on":"document","method":"PUT","drop":"after","after":2,"times":1}]
            """#
        ) { bed in
            var note = Note(origin: DocumentOrigin(bed.id("n")), text: "a")
            for generation in 1...2 {
                note.picture = Attachment([UInt8(generation)], contentType: "image/png")
                await #expect(throws: GatewayError.self) { try await bed.keyspace.save(&note) }
                guard case .saved(let revision) = try await bed.keyspace.save(&note) else {
                    Issue.record("not saved")
                    return
                }
                #expect(revision.generation == generation && note.revision == revision)
                note.text += "b"
            }
        }
    }

    @Test func refusalOfTheDatabaseIsReported() async throws {
        try await TypedTestBed.withFaults(
            #"[{"on":"document","status":{"code":403,"body":"{\"error\":\"forbidden\",\"reason\":\"no\"}"}}]"#
        ) { bed in
            var note = Note(text: "a")
            let error = await #expect(throws: GatewayError.self) { try await bed.keyspace.save(&note) }
            #expect(error?.code == .forbidden)
            #expect(note.revision == nil)
        }
    }
}
