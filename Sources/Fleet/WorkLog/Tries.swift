/// Tries of a document alone that are not answered, or failed: what each process has tried, and what that counts.
///
/// A process that tries again has survived its try before, so each counts once. Only those count whose process has
/// ended: one that lives has survived its try, whatever kept it from an answer.
package struct Tries: Hashable, Sendable {
    /// By owner. Tries that were answered as failed have no owner, and always count.
    private var weights: [String: Int] = [:]

    /// None.
    package init() {}

    /// What a log has stored.
    package init(text: String) {
        for part in text.split(separator: " ") {
            guard let colon = part.lastIndex(of: ":"), let weight = Int(part[part.index(after: colon)...]) else {
                continue
            }
            weights[String(part[..<colon])] = weight
        }
    }

    /// As a log stores them. Empty if there are none.
    package var text: String {
        weights.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }

    package var isEmpty: Bool { weights.isEmpty }

    /// What they add up to.
    package var total: Int { weights.values.reduce(0, +) }

    /// With an attempt of this process instead of the one before.
    func adding(_ owner: String, _ weight: Int) -> Tries {
        var tries = self
        tries.weights[owner] = weight
        return tries
    }

    /// With one that was answered as failed.
    func addingFailed(_ weight: Int) -> Tries { adding("", weights["", default: 0] + weight) }

    /// Of two changes of one document.
    func merged(with other: Tries) -> Tries {
        var tries = self
        tries.weights.merge(other.weights, uniquingKeysWith: max)
        return tries
    }

    /// Without those of processes that live.
    package func without(_ living: some Collection<String>) -> Tries {
        var tries = self
        for owner in living { tries.weights[owner] = nil }
        return tries
    }
}
