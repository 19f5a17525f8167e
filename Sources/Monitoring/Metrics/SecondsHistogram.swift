/// A histogram of seconds that records whole batches: swift-metrics' `Timer` would lock once for each value.
package struct SecondsHistogram: Sendable {
    private let series: Series

    init(_ series: Series) { self.series = series }

    /// Counts each of the times.
    package func record(_ spans: [Duration]) { series.record(spans.lazy.map { $0 / .seconds(1) }) }
}
