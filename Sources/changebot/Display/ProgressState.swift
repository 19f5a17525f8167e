internal import Logging

/// How far a job is, and how that reads.
struct ProgressState: Equatable, Sendable {
    /// Documents that are done with.
    var count = 0
    /// How many there are, as far as is known.
    var total: Int?
    var bytes = 0
    /// Since the start of the job.
    var elapsed: Duration = .zero

    private static let longestBar = 30
    private static let shortestBar = 10

    /// All of it in words.
    var text: String { parts.joined(separator: "  ") }

    /// In one line of at most `width` columns, with a bar if the total is known: what is least important goes first
    /// where there is no room.
    func line(width: Int) -> String {
        // From the right; the time is worth more than the size, and all of them less than the count.
        for leftOut in [[], [sizeText], [sizeText, rateText], [sizeText, rateText, timeText]] {
            let text = parts.filter { !leftOut.contains($0) }.joined(separator: "  ")
            guard text.utf8.count <= width else { continue }
            return bar(width: width - text.utf8.count - 2).map { "\($0)  \(text)" } ?? text
        }
        return String(countText.prefix(max(0, width)))
    }

    /// All of it for programs.
    var logLine: LogLine {
        var fields: Logger.Metadata = [
            "documents": .stringConvertible(count), "seconds": .stringConvertible(elapsed.components.seconds),
        ]
        if let total { fields["total"] = .stringConvertible(total) }
        if bytes > 0 { fields["bytes"] = .stringConvertible(bytes) }
        return LogLine(.info, "progress", fields)
    }

    private var parts: [String] { [countText, rateText, sizeText, timeText].compactMap { $0 } }

    private var countText: String {
        let done = Quantity.count(count)
        guard let total else { return count == 1 ? "1 document" : "\(done) documents" }
        return "\(self.done(of: 100))%  \(done) of \(Quantity.count(total)) documents"
    }

    /// Documents a second since the start; nil as long as that would be a guess.
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

    /// How many of `whole` parts of the job are done, cut and not rounded: all of them only at the end. What has come in
    /// meanwhile does not make it more than all.
    private func done(of whole: Int) -> Int {
        guard let total, total > 0 else { return whole }
        return total.dividingFullWidth(min(max(0, count), total).multipliedFullWidth(by: whole)).quotient
    }

    private func bar(width: Int) -> String? {
        let length = min(Self.longestBar, width - 2)
        guard total != nil, length >= Self.shortestBar else { return nil }
        let done = done(of: length)
        return "[" + String(repeating: "#", count: done) + String(repeating: "-", count: length - done) + "]"
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int(number * 10)
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Int {
    /// Without what is behind the point; what is too large for an integer is the largest one.
    fileprivate init(clamping number: Double) {
        self = number >= 1e18 ? .max : number > 0 ? Int(number) : 0
    }
}
