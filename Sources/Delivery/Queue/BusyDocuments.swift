internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Limits the rate of writes to a document that is written very often: one token bucket per document.
///
/// A value without a clock: the caller passes the time. Memory is at most 64 bytes per recently written document,
/// because full buckets are dropped. Two documents with equal hashes share a bucket; hashes differ between processes.
struct WriteBuckets<Place: Hashable & Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Bucket {
        /// In seconds since the very first write.
        var at: Double
        var tokens: Float
        var isLogged = false
    }

    private struct Rate {
        let capacity: Double
        let perSecond: Double

        func tokens(_ bucket: Bucket, _ now: Double) -> Double {
            min(capacity, Double(bucket.tokens) + perSecond * max(0, now - bucket.at))
        }

        func take(from bucket: inout Bucket, _ now: Double) {
            bucket.tokens = Float(max(0, tokens(bucket, now) - 1))
            bucket.at = now
        }
    }

    private let rate: Rate
    private var buckets: [Int: Bucket] = [:]
    private var sweepAt = 1000
    private var firstWrite: Instant?

    /// - Parameters:
    ///   - capacity: How many writes may follow without a wait.
    ///   - perMinute: How many writes a minute are allowed after that.
    init(capacity: Int, perMinute: Int) {
        rate = Rate(capacity: Double(capacity), perSecond: Double(perMinute) / 60)
    }

    /// When the next write may be made; nil: now.
    func due(_ place: Place, now: Instant) -> Instant? {
        guard !buckets.isEmpty, let bucket = buckets[place.hashValue] else { return nil }
        let tokens = rate.tokens(bucket, seconds(now))
        return tokens >= 1 ? nil : now + .seconds((1 - tokens) / rate.perSecond)
    }

    /// Notes an accepted write.
    mutating func noteWrite(_ place: Place, now: Instant) {
        if firstWrite == nil { firstWrite = now }
        let now = seconds(now)
        let full = Bucket(at: now, tokens: Float(rate.capacity))
        rate.take(from: &buckets[place.hashValue, default: full], now)
        sweep(now)
    }

    /// Notes a wait. Returns whether it is the document's first wait since it became busy.
    mutating func noteWait(_ place: Place) -> Bool {
        let hash = place.hashValue
        guard let bucket = buckets[hash], !bucket.isLogged else { return false }
        buckets[hash]?.isLogged = true
        return true
    }

    private func seconds(_ instant: Instant) -> Double {
        let (seconds, attoseconds) = (firstWrite ?? instant).duration(to: instant).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    private mutating func sweep(_ now: Double) {
        guard buckets.count >= sweepAt else { return }
        buckets = buckets.filter { rate.tokens($0.value, now) < rate.capacity }
        sweepAt = max(1000, buckets.count * 2)
    }
}

/// The buckets of all writers of a run.
actor BusyDocuments {
    private var buckets: WriteBuckets<DocumentAddress>?

    /// - Parameter limit: Nil: no write is ever delayed.
    init(_ limit: EffectLimits?) {
        buckets = limit.map { WriteBuckets(capacity: $0.burst, perMinute: $0.perMinute) }
    }

    /// When these documents may be written again. Documents that may be written now are left out.
    func due(_ places: [DocumentAddress], now: ContinuousClock.Instant = .now) -> [DocumentAddress: ContinuousClock
        .Instant]
    {
        guard let buckets else { return [:] }
        var due: [DocumentAddress: ContinuousClock.Instant] = [:]
        for place in places { due[place] = buckets.due(place, now: now) }
        return due
    }

    func noteWrites(_ places: [DocumentAddress], now: ContinuousClock.Instant = .now) {
        for place in places { buckets?.noteWrite(place, now: now) }
    }

    /// Logs each document once while it is busy.
    func log(_ places: some Collection<DocumentAddress>, to logger: Logger) {
        for place in notYetLogged(places) {
            logger.notice(
                "a document is written very often; from now on its rules run less often, on its latest content",
                metadata: [LogKey.id: "\(place.id)", LogKey.keyspace: "\(place.keyspace ?? "")"])
        }
    }

    /// The documents that have not been logged as busy yet.
    private func notYetLogged(_ places: some Collection<DocumentAddress>) -> [DocumentAddress] {
        places.filter { buckets?.noteWait($0) ?? false }
    }
}
