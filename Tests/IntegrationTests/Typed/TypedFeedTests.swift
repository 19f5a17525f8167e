import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import TypedDocuments

/// Feeds, lists and live queries of values.
@Suite(.limitedParallelism) struct TypedFeedTests {
    private typealias Changes = DocumentSequence<DocumentChange<Note>>.Iterator

    /// The next changes of documents of this test.
    private func next(_ count: Int, of changes: inout Changes, _ bed: TypedTestBed) async throws -> [String] {
        var texts: [String] = []
        while texts.count < count, let change = try await changes.next() {
            guard let name = bed.name(of: change.id) else { continue }
            switch change.content {
            case .document(let note): texts.append(note.text)
            case .deleted: texts.append("deleted \(name)")
            case .undecodable(let error): texts.append("undecodable \(name) \(error.keyPath)")
            case .inaccessible: texts.append("inaccessible \(name)")
            }
        }
        return texts
    }

    @Test func feedContinuesAfterADocumentOfAnotherType() async throws {
        try await TypedTestBed.with { bed in
            let first = try await bed.put("a", #""type":"note","text":"a""#)
            try await bed.put("b", #""type":"note","text":5"#)
            try await bed.put("c", #""type":"other","text":"c""#)
            try await bed.put("d", #""type":"note","text":"d""#)
            var changes = bed.keyspace.changes(as: Note.self).makeAsyncIterator()
            #expect(Set(try await next(3, of: &changes, bed)) == ["a", "undecodable b text", "d"])
            // By then, it waits.
            try await bed.put("a", #""_deleted":true"#, replacing: first)
            #expect(try await next(1, of: &changes, bed) == ["deleted a"])
            try await bed.put("e", #""type":"note","text":"e""#)
            #expect(try await next(1, of: &changes, bed) == ["e"])
        }
    }

    @Test func feedContinuesWhereItEnded() async throws {
        try await TypedTestBed.with { bed in
            try await bed.put("a", #""type":"note","text":"a""#)
            var last: SequenceID?
            for try await change in bed.keyspace.changes(as: Note.self) {
                last = change.sequence
                if change.id == bed.id("a") { break }
            }
            let sequence = try #require(last)
            try await bed.put("b", #""type":"note","text":"b""#)
            var rest = bed.keyspace.changes(since: sequence, as: Note.self).makeAsyncIterator()
            #expect(try await next(1, of: &rest, bed) == ["b"])
        }
    }

    @Test func cancelledTaskLeavesTheFeed() async throws {
        try await TypedTestBed.with { bed in
            try await bed.put("a", #""type":"note","text":"a""#)
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                for try await _ in bed.keyspace.changes(as: Note.self) { continuation.yield() }
            }
            for await _ in stream { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    // MARK: - Lists

    private func list(_ bed: TypedTestBed, _ selector: DocumentSelector) async throws -> [String] {
        var found: [String] = []
        for try await result in bed.keyspace.documents(matching: selector, as: Note.self) {
            switch result {
            case .success(let note): found.append(note.text)
            case .failure(let error): found.append("undecodable \(bed.name(of: error.id) ?? "")")
            }
        }
        return found.sorted()
    }

    @Test func matchingDocumentsAreListed() async throws {
        try await TypedTestBed.with { bed in
            for (id, count) in [("a", "1"), ("b", "2"), ("c", "3")] {
                try await bed.put(id, #""type":"note","text":"\#(id)","count":\#(count)"#)
            }
            try await bed.put("d", #""type":"note","text":"d","count":"4""#)
            try await bed.put("e", #""type":"other","text":"e","count":2"#)
            #expect(try await list(bed, #"{"count": {"$gt": 1}}"#) == ["b", "c", "undecodable d"])
            #expect(try await list(bed, .all) == ["a", "b", "c", "undecodable d"])
            #expect(try await list(bed, #"{"count": 9}"#) == [])
        }
    }

    @Test func invalidSelectorIsRefused() {
        let error = #expect(throws: DocumentSelectorError.self) { try DocumentSelector(json: #"{"a": {"$less": 1}}"#) }
        #expect(error?.description.contains("selector:1:") == true)
    }

    // MARK: - Live queries

    private func describe(_ change: LiveChange<Note>?, _ bed: TypedTestBed) -> String? {
        switch change {
        case .inserted(let note)?: "+\(note.text)"
        case .updated(let note)?: "=\(note.text)"
        case .removed(let id)?: "-\(bed.name(of: id) ?? "")"
        case .upToDate?: "."
        case .undecodable(let error)?: "!\(bed.name(of: error.id) ?? "")"
        case nil: nil
        }
    }

    @Test func liveQueryDeliversDocumentsAndTheirChanges() async throws {
        try await TypedTestBed.with { bed in
            let a = try await bed.put("a", #""type":"note","text":"a1","count":1"#)
            let b = try await bed.put("b", #""type":"note","text":"b1","count":2"#)
            var live = bed.keyspace.live(matching: #"{"count": {"$gte": 2}}"#, as: Note.self).makeAsyncIterator()
            let first = [describe(try await live.next(), bed), describe(try await live.next(), bed)]
            // The feed of a real server may show a document some time after it was written.
            #expect(try first == ["+b1", "."] || RealServer.fromEnvironment() != nil && first == [".", "+b1"])
            let a2 = try await bed.put("a", #""type":"note","text":"a2","count":2"#, replacing: a)
            #expect(describe(try await live.next(), bed) == "+a2")
            let b2 = try await bed.put("b", #""type":"note","text":"b2","count":3"#, replacing: b)
            #expect(describe(try await live.next(), bed) == "=b2")
            try await bed.put("b", #""type":"note","text":"b3","count":0"#, replacing: b2)
            #expect(describe(try await live.next(), bed) == "-b")
            try await bed.put("a", #""_deleted":true"#, replacing: a2)
            #expect(describe(try await live.next(), bed) == "-a")
            try await bed.put("c", #""type":"note","text":5,"count":5"#)
            #expect(describe(try await live.next(), bed) == "!c")
        }
    }

    // MARK: - Errors

    @Test func feedOfAMissingKeyspaceEnds() async throws {
        try await TypedTestBed.with { bed in
            let missing = try bed.keyspace.keyspace("no-such-database")
            let error = await #expect(throws: GatewayError.self) {
                for try await _ in missing.changes(as: Note.self) {}
            }
            #expect(error.map { [.notFound, .unauthorized].contains($0.code) } == true)
        }
    }
}
