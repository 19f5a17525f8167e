import TestKit
import Testing

@testable import TypedDocuments

/// The transfer of elements from the reading task to the loop.
@Suite(.limitedParallelism) struct DocumentSequenceTests {
    private struct Failure: Error {}

    /// All numbers from 0. Signals the end of the read.
    private func numbers() -> (DocumentSequence<Int>, ended: AsyncStream<Int>) {
        let (ended, continuation) = AsyncStream.makeStream(of: Int.self)
        let sequence = DocumentSequence<Int> { handoff in
            var sent = 0
            defer { continuation.yield(sent) }
            while true {
                try await handoff.send([sent])
                sent += 1
            }
        }
        return (sequence, ended)
    }

    @Test func leavingLoopEndsRead() async throws {
        let (sequence, ended) = numbers()
        for try await number in sequence where number == 3 { break }
        // The read was not ahead of the loop.
        for await sent in ended {
            #expect(sent <= 4)
            break
        }
    }

    @Test func cancellingTaskEndsLoop() async throws {
        let (sequence, _) = numbers()
        let task = Task { for try await _ in sequence {} }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func eachLoopReadsAgain() async throws {
        let (sequence, _) = numbers()
        for _ in 0..<2 {
            var iterator = sequence.makeAsyncIterator()
            for expected in 0..<3 { #expect(try await iterator.next() == expected) }
        }
    }

    @Test func sentElementsPrecedeError() async throws {
        let sequence = DocumentSequence<Int> { handoff in
            try await handoff.send([1, 2])
            throw Failure()
        }
        var found: [Int] = []
        await #expect(throws: Failure.self) { for try await number in sequence { found.append(number) } }
        #expect(found == [1, 2])
    }

    @Test func finishedReadEndsLoop() async throws {
        let sequence = DocumentSequence<Int> { handoff in try await handoff.send([1, 2]) }
        var iterator = sequence.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == 2)
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }
}
