/// Finds the name that was most likely intended.
package enum NearestName {
    /// The name with the fewest edits, if it takes one edit, or at most a third of the length of `name`. Otherwise nil.
    package static func of(_ name: String, among names: [String]) -> String? {
        let candidates = names.map { (name: $0, distance: distance(Array(name.utf8), Array($0.utf8))) }
        guard let best = candidates.min(by: { $0.distance < $1.distance }),
            best.distance <= max(1, best.name.utf8.count / 3)
        else { return nil }
        return best.name
    }

    /// Like ``of(_:among:)``, for names that users choose: otherwise the only name that contains `name`, or is contained
    /// in it.
    package static func ofOwn(_ name: String, among names: [String]) -> String? {
        if let same = names.first(where: { $0.lowercased() == name.lowercased() }) ?? of(name, among: names) {
            return same
        }
        guard name.utf8.count > 2 else { return nil }
        let related = names.filter { $0.utf8.count > 2 && ($0.contains(name) || name.contains($0)) }
        return related.count == 1 ? related[0] : nil
    }

    /// The end of a message about a name that is not one of `names`: `: did you mean 'a'? Rules: a, b` or
    /// `; rules: a, b`.
    ///
    /// - Parameters:
    ///   - meant: The name that was probably meant; nil if none is similar.
    ///   - kind: What the names are, in lower case.
    ///   - isWhole: Whether a long list of names is not cut.
    package static func advice(
        _ meant: String?, among names: [String], as kind: String = "known here", isWhole: Bool = true
    ) -> String {
        let list = isWhole ? names.joined(separator: ", ") : AbbreviatedList.text(names)
        let title = meant == nil ? kind : kind.prefix(1).uppercased() + kind.dropFirst()
        return (meant.map { ": did you mean '\($0)'? " } ?? "; ") + "\(title): \(list)"
    }

    /// The number of insertions, deletions, substitutions and swaps of neighbours between the two.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        // A name this long is not a typo.
        guard left.count <= 64 else { return left.count }
        var rows = [Array(0...right.count)]
        for i in 1..<max(1, left.count + 1) {
            var row = [i]
            for j in 1..<max(1, right.count + 1) {
                let substitution = rows[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1)
                var best = min(rows[i - 1][j] + 1, row[j - 1] + 1, substitution)
                if i > 1, j > 1, left[i - 1] == right[j - 2], left[i - 2] == right[j - 1] {
                    best = min(best, rows[i - 2][j - 2] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
