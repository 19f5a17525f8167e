/// What the statuses of a receiver mean, where that differs from the usual: the key `on_status`.
package struct StatusPolicy: Sendable, Hashable {
    package enum Verdict: String, Sendable, CaseIterable {
        /// The event was accepted.
        case done
        /// The event is sent again later.
        case retry
        /// The change becomes a dead letter.
        case deadLetter = "dead-letter"
    }

    private struct Entry: Sendable, Hashable {
        let statuses: ClosedRange<Int>
        let verdict: Verdict
    }

    /// The statuses of final answers.
    private static let all = 200...599

    /// The narrowest first.
    private var entries: [Entry] = []

    /// The usual meaning of all statuses.
    package init() {}

    /// The verdict of the narrowest range that contains the status. Nil: the usual one.
    package func verdict(on status: Int) -> Verdict? { entries.first { $0.statuses.contains(status) }?.verdict }
}

extension StatusPolicy {
    /// Reads `{ 409: done, 404: dead-letter, 5xx: retry, 430-440: retry }`. Reports errors with their positions.
    init(_ object: SourceObject) {
        guard let node = object.node("on_status") else { return }
        let errors = object.errors
        guard case .object(let members) = node.content, !node.isComputed else {
            errors.reportKind(of: node, "'on_status' must be an object", remedy: "write on_status: { 409: done }")
            return
        }
        for member in members {
            guard let statuses = Self.statuses(member.name) else {
                errors.report(
                    at: member.position,
                    "'\(DisplayText.plain(member.name))' is not a status from 200 to 599; write 409, 5xx or 500-504")
                continue
            }
            guard let verdict = member.value.text.flatMap(Verdict.init(rawValue:)) else {
                errors.report(
                    at: member.value.position,
                    "a status means done, retry or dead-letter; write one of them")
                continue
            }
            if let other = entries.first(where: { Self.areAmbiguous($0.statuses, statuses) }) {
                errors.report(
                    at: member.position,
                    "'\(member.name)' and '\(Self.text(other.statuses))' overlap, and neither contains the other; "
                        + "split one of them")
            }
            entries.append(Entry(statuses: statuses, verdict: verdict))
        }
        entries.sort { $0.statuses.count < $1.statuses.count }
    }

    /// `409`, `5xx` or `500-504`.
    private static func statuses(_ text: String) -> ClosedRange<Int>? {
        if text.utf8.count == 3, text.lowercased().hasSuffix("xx"), let hundreds = Int(text.prefix(1)) {
            let first = hundreds * 100
            return all.contains(first) ? first...(first + 99) : nil
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.utf8.count == 3 && part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(part) : nil
        }
        guard numbers.count == parts.count, (1...2).contains(numbers.count), let first = numbers.first,
            let last = numbers.last, first <= last, all.contains(first), all.contains(last)
        else { return nil }
        return first...last
    }

    private static func areAmbiguous(_ one: ClosedRange<Int>, _ other: ClosedRange<Int>) -> Bool {
        guard one.overlaps(other), one != other else { return one == other }
        let contains = { (outer: ClosedRange<Int>, inner: ClosedRange<Int>) in
            outer.lowerBound <= inner.lowerBound && inner.upperBound <= outer.upperBound
        }
        return !contains(one, other) && !contains(other, one)
    }

    private static func text(_ statuses: ClosedRange<Int>) -> String {
        statuses.count == 1 ? "\(statuses.lowerBound)" : "\(statuses.lowerBound)-\(statuses.upperBound)"
    }
}
