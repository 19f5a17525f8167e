/// A metric as Prometheus sees it: a name with all its series.
///
/// - Note: Source: Prometheus, "Metric and label naming": base units, `_total` for counters.
package struct MetricFamily: Sendable {
    /// The meaning of a family's values.
    package enum Kind: Sendable, Equatable {
        /// Only grows; the name ends in `_total`.
        case counter
        /// A current value.
        case gauge
        /// Counts observations by size. The bounds ascend; `+Inf` is added.
        case histogram(bounds: [Double])

        var name: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    /// Seconds from half a millisecond to a minute, for requests and decisions.
    package static let seconds: Kind = .histogram(bounds: [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ])

    package let name: String
    package let kind: Kind
    /// One sentence for users, without a line feed at the end.
    package let help: String

    /// - Parameter name: Letters, digits and `_`; other characters become `_` in the text.
    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}
