/// Attempts at a document in isolation that failed or have no answer: the weight of each process's attempts.
///
/// A process that attempts it again has survived its earlier attempt, so each process counts once. Only attempts of
/// ended processes count: a process that still runs has survived its attempt.
package struct IsolatedAttempts: Hashable, Sendable {
    /// By owner. Attempts that were answered as failed have no owner, and always count.
    private var weights: [String: Int] = [:]

    /// None.
    package init() {}

    /// Reads what a log has stored.
    package init(text: String) {
        for part in text.split(separator: " ") {
            guard let colon = part.lastIndex(of: ":"), let weight = Int(part[part.index(after: colon)...]) else {
                continue
            }
            weights[String(part[..<colon])] = weight
        }
    }

    /// As a log stores them: `OWNER:WEIGHT`, separated by spaces. Empty if there are none.
    package var text: String {
        weights.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }

    package var isEmpty: Bool { weights.isEmpty }

    /// The sum of all weights.
    package var total: Int { weights.values.reduce(0, +) }

    /// With an attempt of this process, which replaces its previous one.
    func adding(_ owner: String, _ weight: Int) -> IsolatedAttempts {
        var isolatedAttempts = self
        isolatedAttempts.weights[owner] = weight
        return isolatedAttempts
    }

    /// With another attempt that was answered as failed.
    func addingFailed(_ weight: Int) -> IsolatedAttempts { adding("", weights["", default: 0] + weight) }

    /// Combines those of two changes of one document.
    func merged(with other: IsolatedAttempts) -> IsolatedAttempts {
        var isolatedAttempts = self
        isolatedAttempts.weights.merge(other.weights, uniquingKeysWith: max)
        return isolatedAttempts
    }

    /// Without the attempts of processes that still run.
    package func without(_ living: some Collection<String>) -> IsolatedAttempts {
        var isolatedAttempts = self
        for owner in living { isolatedAttempts.weights[owner] = nil }
        return isolatedAttempts
    }
}
