package import CoreMetrics
internal import Locking

/// Keeps the series of swift-metrics in memory, and writes them in Prometheus' text format.
///
/// Optimized for few series with frequent updates: a series is looked up when its metric is created, and then has its
/// own lock. Destroyed series are kept, as Prometheus expects of counters.
package final class PrometheusRegistry: MetricsFactory {
    /// The maximum number of series per family. Further series are counted together, with every label set to `other`.
    package static let seriesLimit = 2000

    private struct State {
        var series: [String: [Labels: Series]] = [:]
        /// Families in the order of their description; those of unknown metrics follow.
        var families: [MetricFamily]
    }

    private let state: Locked<State>

    /// - Parameter families: The described families, in output order. A metric without a description is also written:
    ///   as a counter, a gauge or a histogram of seconds, depending on its creation.
    package init(_ families: [MetricFamily]) { state = Locked(State(families: families)) }

    private func series(_ name: String, _ dimensions: [(String, String)], _ kind: MetricFamily.Kind) -> Series {
        state.withLock { state in
            let family = state.families.first { $0.name == name } ?? MetricFamily(name, kind, name)
            if state.series[name] == nil, !state.families.contains(where: { $0.name == name }) {
                state.families.append(family)
            }
            var labels = Labels(dimensions)
            let known = state.series[name, default: [:]]
            if known[labels] == nil, known.count >= Self.seriesLimit { labels = labels.merged }
            if let series = state.series[name]?[labels] { return series }
            let series = Series(family.kind)
            state.series[name, default: [:]][labels] = series
            return series
        }
    }

    /// A histogram that records many values in one call.
    package func histogram(_ name: String, _ dimensions: [(String, String)]) -> SecondsHistogram {
        SecondsHistogram(series(name, dimensions, MetricFamily.seconds))
    }

    /// Removes all series with this label. Handles that still refer to them are ignored.
    package func removeSeries(_ label: String, _ value: String) {
        state.withLock { state in
            for (name, series) in state.series {
                let left = series.filter { labels, _ in
                    !labels.all.contains { $0.name == label && $0.value == value }
                }
                state.series[name] = left.isEmpty ? nil : left
            }
        }
    }

    /// All series in the text format 0.0.4 of Prometheus, sorted by labels within a family.
    package func text() -> [UInt8] {
        let (families, all) = state.withLock { ($0.families, $0.series) }
        var text = PrometheusText()
        for family in families {
            guard let series = all[family.name] else { continue }
            text.begin(family)
            for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
                text.add(family.name, labels, series.value)
            }
        }
        return text.bytes
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter)
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge)
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        series(label, dimensions, aggregate ? MetricFamily.seconds : .gauge)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, MetricFamily.seconds)
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
