internal import GatewayClient

/// Slows down writes to a document that is written all the time: one token bucket per document.
///
/// A value without a clock: the caller passes the time. Memory is that of recently written documents: full buckets are
/// forgotten.
struct WriteBuckets<Place: Hashable & Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Bucket {
        var tokens: Double
        var at: Instant
        var isTold = false
    }

    private let capacity: Double
    private let tokensPerSecond: Double
    private var buckets: [Place: Bucket] = [:]
    private var sweepAt = 1000

    /// - Parameters:
    ///   - capacity: Writes that may follow at once.
    ///   - perMinute: Writes a minute from then on.
    init(capacity: Int, perMinute: Int) {
        self.capacity = Double(capacity)
        tokensPerSecond = Double(perMinute) / 60
    }

    /// When the next write may be made; nil: now.
    func due(_ place: Place, now: Instant) -> Instant? {
        guard let bucket = buckets[place] else { return nil }
        let tokens = filled(bucket, now)
        return tokens >= 1 ? nil : now + .seconds((1 - tokens) / tokensPerSecond)
    }

    /// A write was accepted.
    mutating func noteWrite(_ place: Place, now: Instant) {
        var bucket = buckets[place] ?? Bucket(tokens: capacity, at: now)
        bucket.tokens = max(0, filled(bucket, now) - 1)
        bucket.at = now
        buckets[place] = bucket
        sweep(now)
    }

    /// Whether this is the first wait of the document since it became busy.
    mutating func noteWait(_ place: Place) -> Bool {
        guard let bucket = buckets[place], !bucket.isTold else { return false }
        buckets[place]?.isTold = true
        return true
    }

    var count: Int { buckets.count }

    private func filled(_ bucket: Bucket, _ now: Instant) -> Double {
        min(capacity, bucket.tokens + tokensPerSecond * max(0, bucket.at.duration(to: now) / .seconds(1)))
    }

    private mutating func sweep(_ now: Instant) {
        guard buckets.count >= sweepAt else { return }
        buckets = buckets.filter { filled($0.value, now) < capacity }
        sweepAt = max(1000, buckets.count * 2)
    }
}

/// A document of the keyspace that this run follows, or of another one to which its rules write.
struct DocumentPlace: Hashable, Sendable {
    /// Nil: the followed keyspace.
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

    /// When these documents may be written again; those that may be written now are left out.
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

    /// Those that have not been logged as busy yet.
    func untold(_ places: some Collection<DocumentPlace>) -> [DocumentPlace] {
        places.filter { buckets?.noteWait($0) ?? false }
    }
}
