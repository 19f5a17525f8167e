internal import GatewayClient

/// Slows down the writes to a document that is written all the time, and to no other: a token bucket for each.
///
/// A value without a clock: whoever asks says what time it is. Memory is that of the documents written within the last
/// seconds: a bucket that is full again is forgotten.
struct WriteBuckets<Place: Hashable & Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Bucket {
        var tokens: Double
        /// In seconds since the first write of all.
        var at: Double
        var isTold = false
    }

    private struct Rate {
        let capacity: Double
        let perSecond: Double

        func tokens(_ bucket: Bucket, _ now: Double) -> Double {
            min(capacity, bucket.tokens + perSecond * max(0, now - bucket.at))
        }

        func take(from bucket: inout Bucket, _ now: Double) {
            bucket.tokens = max(0, tokens(bucket, now) - 1)
            bucket.at = now
        }
    }

    private let rate: Rate
    private var buckets: [Place: Bucket] = [:]
    private var sweepAt = 1000
    private var firstWrite: Instant?

    /// - Parameters:
    ///   - capacity: Writes that may follow one another at once.
    ///   - perMinute: Writes a minute from then on.
    init(capacity: Int, perMinute: Int) {
        rate = Rate(capacity: Double(capacity), perSecond: Double(perMinute) / 60)
    }

    /// When the next write may be made; nil: now.
    func due(_ place: Place, now: Instant) -> Instant? {
        guard let bucket = buckets[place] else { return nil }
        let tokens = rate.tokens(bucket, seconds(now))
        return tokens >= 1 ? nil : now + .seconds((1 - tokens) / rate.perSecond)
    }

    /// A write was accepted.
    mutating func noteWrite(_ place: Place, now: Instant) {
        if firstWrite == nil { firstWrite = now }
        let now = seconds(now)
        let full = Bucket(tokens: rate.capacity, at: now)
        rate.take(from: &buckets[place, default: full], now)
        sweep(now)
    }

    /// Whether this is the first time that the document has to wait, since it was busy last.
    mutating func noteWait(_ place: Place) -> Bool {
        guard let bucket = buckets[place], !bucket.isTold else { return false }
        buckets[place]?.isTold = true
        return true
    }

    var count: Int { buckets.count }

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

/// A document of this run's keyspace or of another one that its rules write to.
struct DocumentPlace: Hashable, Sendable {
    /// Nil: the one that is followed.
    let keyspace: String?
    let id: DocumentID
}

/// The buckets of all writers of a run.
actor BusyDocuments {
    private var buckets: WriteBuckets<DocumentPlace>?

    /// - Parameter limit: Nil: nothing is ever slowed down.
    init(_ limit: EffectLimits?) {
        buckets = limit.map { WriteBuckets(capacity: $0.burst, perMinute: $0.perMinute) }
    }

    /// When these may be written again; those that may now are left out.
    func due(_ places: [DocumentPlace], now: ContinuousClock.Instant = .now) -> [DocumentPlace: ContinuousClock.Instant]
    {
        guard let buckets else { return [:] }
        var due: [DocumentPlace: ContinuousClock.Instant] = [:]
        for place in places { due[place] = buckets.due(place, now: now) }
        return due
    }

    func noteWrites(_ places: [DocumentPlace], now: ContinuousClock.Instant = .now) {
        for place in places { buckets?.noteWrite(place, now: now) }
    }

    /// Those of them that nobody was told of yet.
    func untold(_ places: some Collection<DocumentPlace>) -> [DocumentPlace] {
        places.filter { buckets?.noteWait($0) ?? false }
    }
}
