internal import CoreMetrics
internal import Locking

/// The labels of a series, sorted by name.
struct Labels: Hashable, Comparable {
    struct Label: Hashable {
        let name: String
        let value: String
    }

    let all: [Label]

    init(_ dimensions: [(String, String)]) {
        all = dimensions.map { Label(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
    }

    private init(all: [Label]) { self.all = all }

    /// The labels of the series beyond the limit.
    var merged: Labels { Labels(all: all.map { Label(name: $0.name, value: "other") }) }

    static func < (left: Labels, right: Labels) -> Bool {
        left.all.lexicographicallyPrecedes(right.all) { ($0.name, $0.value) < ($1.name, $1.value) }
    }
}

/// One series: the value behind a metric with its labels.
final class Series: Sendable {
    enum Value: Sendable {
        case single(Double)
        /// `counts` has one more element than `bounds`; each counts only the values between two bounds.
        case histogram(bounds: [Double], counts: [Int], sum: Double)

        init(_ kind: MetricFamily.Kind) {
            switch kind {
            case .counter, .gauge: self = .single(0)
            case .histogram(let bounds):
                self = .histogram(bounds: bounds, counts: Array(repeating: 0, count: bounds.count + 1), sum: 0)
            }
        }

        /// Adds to a counter or gauge.
        mutating func add(_ amount: Double) {
            if case .single(let value) = self { self = .single(value + amount) }
        }

        /// Sets a gauge to the last value, or counts values in a histogram. NaN is skipped.
        mutating func record(_ values: some Sequence<Double>) {
            switch self {
            case .single(let former): self = .single(values.reduce(former) { $1 })
            case .histogram(let bounds, var counts, var sum):
                // The array must be uniquely referenced while it is changed.
                self = .single(0)
                for value in values where value.isFinite {
                    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
                    sum += value
                }
                self = .histogram(bounds: bounds, counts: counts, sum: sum)
            }
        }
    }

    private let box: Locked<Value>

    init(_ kind: MetricFamily.Kind) { box = Locked(Value(kind)) }

    var value: Value { box.withLock { $0 } }

    func record(_ values: some Sequence<Double>) { box.withLock { $0.record(values) } }
}

extension Series: CounterHandler, FloatingPointCounterHandler {
    func increment(by amount: Int64) { box.withLock { $0.add(Double(amount)) } }

    func increment(by amount: Double) {
        guard amount.isFinite, amount >= 0 else { return }
        box.withLock { $0.add(amount) }
    }

    /// Does nothing: counters that go back look like a restart of the process.
    func reset() {}
}

extension Series: MeterHandler, RecorderHandler {
    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { record(CollectionOfOne(value)) }

    func decrement(by amount: Double) { box.withLock { $0.add(-amount) } }

    func record(_ value: Int64) { set(Double(value)) }

    func record(_ value: Double) { set(value) }
}

extension Series: TimerHandler {
    func recordNanoseconds(_ duration: Int64) { set(Double(duration) / 1e9) }
}
