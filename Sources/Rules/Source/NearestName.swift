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

    /// The end of a message about a name that is not one of `names`.
    ///
    /// - Parameter meant: The name that was probably meant; nil if none is similar.
    package static func advice(_ meant: String?, among names: [String]) -> String {
        let known = names.joined(separator: ", ")
        return meant.map { ": did you mean '\($0)'? Known here: \(known)" } ?? "; known here: \(known)"
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
