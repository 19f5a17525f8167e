/// Collects the mistakes of one file while it is read.
final class FaultPlanMistakes {
    private(set) var found: [FaultPlanMistake] = []

    /// In the order of the file.
    var inOrder: [FaultPlanMistake] { found.sorted { $0.offset < $1.offset } }

    func add(_ mistake: FaultPlanMistake) { found.append(mistake) }

    /// The value of a part of the file; nil, after adding the mistake, if it is wrong. The other parts can still be
    /// read.
    @discardableResult func gather<Part>(_ read: () throws(FaultPlanMistake) -> Part) -> Part? {
        do throws(FaultPlanMistake) { return try read() } catch {
            add(error)
            return nil
        }
    }
}
