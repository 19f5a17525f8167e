internal import DocumentFlow
internal import Logging

/// The progress of a job, as text and as JSON.
struct ProgressState: Equatable, Sendable {
    /// The number of finished documents.
    var count = 0
    /// The number of all documents, if it is known. It may grow.
    var total: Int?
    /// Whether the total is estimated.
    var isEstimate = false
    var bytes = 0
    /// The time since the start of the job.
    var elapsed: Duration = .zero

    private static let maxBarWidth = 30
    private static let minBarWidth = 10

    /// All parts as text.
    var text: String { parts.joined(separator: "  ") }

    /// One line of at most `width` columns, with a bar if the total is known. If the line is too narrow, the least
    /// important parts are left out.
    func line(width: Int) -> String {
        // Drop the size first, then the rate, then the time. The count always stays.
        for leftOut in [[], [sizeText], [sizeText, rateText], [sizeText, rateText, timeText]] {
            let text = parts.filter { !leftOut.contains($0) }.joined(separator: "  ")
            guard text.utf8.count <= width else { continue }
            return bar(width: width - text.utf8.count - 2).map { "\($0)  \(text)" } ?? text
        }
        return String(countText.prefix(max(0, width)))
    }

    /// All parts as a log line.
    var logLine: LogLine {
        var fields: Logger.Metadata = [
            LogKey.documents: .stringConvertible(count), "seconds": .stringConvertible(elapsed.components.seconds),
        ]
        if let total { fields["total"] = .stringConvertible(total) }
        if bytes > 0 { fields["bytes"] = .stringConvertible(bytes) }
        return LogLine(.info, "progress", fields)
    }

    private var parts: [String] { [countText, rateText, sizeText, timeText].compactMap { $0 } }

    private var countText: String {
        // An estimate that turned out too small is not shown.
        guard let total, !isEstimate || count <= total else { return Quantity.count(count, "document") }
        let all = (isEstimate ? "about " : "") + Quantity.count(total, "document")
        return "\(done(of: 100))%  \(Quantity.count(count)) of \(all)"
    }

    /// Documents per second since the start; nil in the first second, when it would be unreliable.
    private var rate: Double? {
        let (seconds, attoseconds) = elapsed.components
        let time = Double(seconds) + Double(attoseconds) / 1e18
        return time >= 1 && count > 0 ? Double(count) / time : nil
    }

    private var rateText: String? {
        rate.map { $0 < 10 ? "\(Self.tenths($0))/s" : "\(Quantity.count(Int(clamping: $0)))/s" }
    }

    private var sizeText: String? { bytes > 0 ? Quantity.size(bytes) : nil }

    private var timeText: String? {
        if let rate, let total, count < total {
            return Quantity.duration(.seconds(Int(clamping: Double(total - count) / rate))) + " left"
        }
        return elapsed >= .seconds(1) ? Quantity.duration(elapsed) : nil
    }

    /// How many of `whole` parts are done. Rounded down, so that `whole` is reached only at the end, and never more
    /// than `whole`, even if documents were added meanwhile.
    private func done(of whole: Int) -> Int {
        guard let total, total > 0 else { return whole }
        return total.dividingFullWidth(min(max(0, count), total).multipliedFullWidth(by: whole)).quotient
    }

    private func bar(width: Int) -> String? {
        let length = min(Self.maxBarWidth, width - 2)
        guard total != nil, length >= Self.minBarWidth else { return nil }
        let done = done(of: length)
        return "[" + String(repeating: "#", count: done) + String(repeating: "-", count: length - done) + "]"
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int(number * 10)
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Int {
    /// Rounds down. Numbers that are too large become the largest integer; negative numbers become 0.
    fileprivate init(clamping number: Double) {
        self = number >= 1e18 ? .max : number > 0 ? Int(number) : 0
    }
}
