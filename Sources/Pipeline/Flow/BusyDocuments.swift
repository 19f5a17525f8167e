internal import GatewayClient

/// Slows down writes to a document that is written all the time: one token bucket per document.
///
/// A value without a clock: the caller passes the time. Memory is that of recently written documents: full buckets are
/// forgotten.
struct WriteBuckets<Place: Hashable & Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Bucket {
        var tokens: Double
        /// In seconds since the first write of all.
        var at: Double
        var isLogged = false
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
    ///   - capacity: Writes that may follow at once.
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

    /// Whether this is the first wait of the document since it became busy.
    mutating func noteWait(_ place: Place) -> Bool {
        guard let bucket = buckets[place], !bucket.isLogged else { return false }
        buckets[place]?.isLogged = true
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
    func notYetLogged(_ places: some Collection<DocumentPlace>) -> [DocumentPlace] {
        places.filter { buckets?.noteWait($0) ?? false }
    }
}

/// When a bot stops or slows down repeated writes to one document.
///
/// How often a document *changes* does not matter: a document that people change often is never dead-lettered.
package struct EffectLimits: Sendable {
    /// The write that is refused: the 20th in a row to which the same content leads within ``window``. Somebody undoes
    /// it each time.
    package var sameContent = 20
    /// The same with other contents in between. An app that switches to and fro undoes nothing; a longer loop of bots
    /// does.
    package var sameContentAmongOthers = 100
    /// The period in which writes are counted, in seconds.
    package var window = 600
    /// Writes to one document that may follow at once.
    package var burst = 30
    /// Writes to one document per minute after that.
    package var perMinute = 30

    /// The limits of `changebot run`.
    package init() {}

    /// Why a document with this count is dead-lettered; nil if it may be written once more.
    func reason(_ count: Ledger.EffectCount) -> String? {
        guard count.inARow >= sameContent - 1 || count.all >= sameContentAmongOthers - 1 else { return nil }
        return "the same content led to a write \(count.all) times in \(window / 60) minutes: another bot or an "
            + "app undoes what the rules do; it is decided again when its content changes"
    }
}
