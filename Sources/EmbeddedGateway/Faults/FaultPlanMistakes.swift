/// The mistakes of one file, gathered while it is read.
final class FaultPlanMistakes {
    private(set) var found: [FaultPlanMistake] = []

    /// By their places in the file.
    var inOrder: [FaultPlanMistake] { found.sorted { $0.offset < $1.offset } }

    func add(_ mistake: FaultPlanMistake) { found.append(mistake) }

    /// What a part of the file says; nil, with its mistake, if it is wrong: the other parts are read all the same.
    @discardableResult func gather<Part>(_ read: () throws(FaultPlanMistake) -> Part) -> Part? {
        do throws(FaultPlanMistake) { return try read() } catch {
            add(error)
            return nil
        }
    }
}
