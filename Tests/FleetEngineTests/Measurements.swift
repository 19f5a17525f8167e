import Fleet
import FleetEngine
import Glibc
import PostgreSQL
import TestKit
import Testing

/// Rates, printed. Only with `FLEET_MEASUREMENTS=1`, and meaningful only in a release build.
@Suite(.limitedParallelism, .serialized, .enabled(if: getenv("FLEET_MEASUREMENTS") != nil)) struct Measurements {
    private static let partitions = 64
    private static let members = 4

    private static func milliseconds(_ time: Duration) -> Int { Int(time / .milliseconds(1)) }

    /// Appends in parts of 500, with ids of 36 bytes and revisions of 34.
    private static func append(
        _ count: Int, to log: PostgresWorkLog, pause: Duration = .zero
    ) async throws -> [Duration] {
        var random = SplitMix64(seed: 7)
        var term = try #require(try await log.lead())
        var times: [Duration] = []
        for part in 0..<(count / 500) {
            let entries = (0..<500).map { number in
                let id = String(random.below(1 << 40), radix: 36) + "-0123456789-0123456789-01234567"
                let sequence = "\"\(part * 500 + number)-0123456789abcdef\""
                return FeedEntry(
                    sequence: sequence, id: DocumentKey(id), revision: "12-0123456789abcdef0123456789abcdef")
            }
            let start = ContinuousClock.now
            term = try await log.append(entries, upTo: "\"\(part)\"", term)
            times.append(.now - start)
            if pause > .zero { try await Task.sleep(until: start + pause, clock: .continuous) }
        }
        return times.sorted()
    }

    /// Reads and commits the partitions of one member until `total` changes are done by all.
    private static func drain(
        _ log: PostgresWorkLog, _ mine: [Int], batch: Int, until isOver: @Sendable () async -> Bool
    ) async throws -> (changes: Int, disorder: Int, calls: Int) {
        var claims = try await log.claim(mine, atMost: mine.count)
        var (done, disorder, calls) = (0, 0, 0)
        while true {
            let before = done
            for index in claims.indices {
                let changes = try await log.next(claims[index], after: claims[index].position, limit: batch)
                guard let last = changes.last else { continue }
                for (one, other) in zip(changes, changes.dropFirst()) where one.n >= other.n { disorder += 1 }
                claims[index] = try await log.commit(claims[index], PartitionOutcome(position: last.n))
                done += changes.count
                calls += 1
            }
            if done == before {
                if await isOver() { return (done, disorder, calls) }
                let readPositions = claims.map { ReadPosition(claim: $0, readUpTo: $0.position) }
                _ = try await log.pendingWork(readPositions, within: .milliseconds(200))
            }
        }
    }

    @Test(arguments: [100, 500]) func appendAndProcess(_ batch: Int) async throws {
        let bed = try TestBed(TestPostgres(), leaseTime: .seconds(30), partitions: Self.partitions)
        let leader = try await bed.prepared("leader")
        let count = 200_000
        let start = ContinuousClock.now
        let times = try await Self.append(count, to: leader)
        let time = ContinuousClock.now - start
        print(
            "append: \(Self.milliseconds(time)) ms for \(count): \(count * 1000 / Self.milliseconds(time))/s,",
            "median \(times[times.count / 2]), longest \(times[times.count - 1])")
        let counting = try await ContinuousClock().measure { _ = try await leader.backlog() }
        let answered = try await ContinuousClock().measure { _ = try await leader.answered() }
        print("backlog() of \(count): \(counting), answered(): \(answered)")
        let second = ContinuousClock.now
        let results = try await Self.drainAll(bed, batch: batch) { true }
        let drained = ContinuousClock.now - second
        print(
            "read and commit by \(batch), \(Self.members) members: \(count * 1000 / Self.milliseconds(drained))/s,",
            "\(results.calls) commits, disorder \(results.disorder)")
        #expect(results.changes == count && results.disorder == 0)
    }

    @Test(arguments: [10_000, 25_000]) func both(_ rate: Int) async throws {
        let bed = try TestBed(TestPostgres(), leaseTime: .seconds(30), partitions: Self.partitions)
        let leader = try await bed.prepared("leader")
        let count = rate * 8
        let observer = bed.log("observer")
        let cpu = clock()
        async let results = Self.drainAll(bed, batch: 500) {
            let n = try? await bed.run("SELECT n FROM fleet")[0][0].int
            return n == count
        }
        let start = ContinuousClock.now
        let times = try await Self.append(count, to: leader, pause: .seconds(1) * 500 / rate)
        let time = ContinuousClock.now - start
        let waiting = try await observer.backlog().entries
        let all = try await results
        print(
            "\(rate)/s asked, \(count * 1000 / Self.milliseconds(time))/s appended, median \(times[times.count / 2]),",
            "99 % \(times[times.count * 99 / 100]), longest \(times[times.count - 1]); \(waiting) waited at the end;",
            "\(all.calls) commits; this process \(Double(clock() - cpu) / 1e6) s of CPU in \(time)")
        #expect(all.changes == count && all.disorder == 0)
    }

    /// The frequency of the idle poll, and the cost of a call.
    @Test func idlePollIsMeasured() async throws {
        let bed = try TestBed(leaseTime: .seconds(30), partitions: Self.partitions)
        let log = try await bed.prepared("a")
        let claims = try await log.claim(Array(0..<16), atMost: 16)
        let readPositions = claims.map { ReadPosition(claim: $0, readUpTo: 0) }
        let cpu = clock()
        _ = try await log.pendingWork(readPositions, within: .seconds(5))
        print("waiting 5 s for work: \(Double(clock() - cpu) / 1e3) ms of CPU here")
        for (name, body) in [
            ("pending work", { _ = try await log.pendingWork(readPositions, within: .zero) }),
            ("renew", { _ = try await log.renew() }),
            ("next", { _ = try await log.next(claims[0], after: 0, limit: 100) }),
            ("lead", { _ = try await log.lead() }),
        ] as [(String, () async throws -> Void)] {
            let time = try await ContinuousClock().measure { for _ in 0..<300 { try await body() } }
            print("\(name): \(time / 300)")
        }
    }

    private static func drainAll(
        _ bed: TestBed, batch: Int, until isOver: @escaping @Sendable () async -> Bool
    ) async throws -> (changes: Int, disorder: Int, calls: Int) {
        try await withThrowingTaskGroup(of: (changes: Int, disorder: Int, calls: Int).self) { group in
            for member in 0..<members {
                let log = bed.log("\(member)")
                let mine = (0..<partitions).filter { $0 % members == member }
                group.addTask { try await drain(log, mine, batch: batch, until: isOver) }
            }
            return try await group.reduce((0, 0, 0)) { ($0.0 + $1.0, $0.1 + $1.1, $0.2 + $1.2) }
        }
    }
}
