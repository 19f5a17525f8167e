package import LosslessJSON

/// Finds which of many selectors match a document, without evaluating all of them. One per task: an instance reuses its
/// buffers.
///
/// Most selectors require a field to have a certain text. They are grouped by that field, and by the text.
package final class SelectorGroup {
    private struct Field {
        let path: FieldPath
        /// The selectors for each printable ASCII text: different ASCII texts are never equal under collation.
        var texts: [[UInt8]: [Int]] = [:]
        var all: [Int] = []
    }

    private let selectors: [Selector]
    private var fields: [Field] = []
    /// Selectors that no field can exclude.
    private var unindexed: [Int] = []
    private let scratch = MatchScratch()

    /// - Parameter selectors: In any order. The results are indexes in this list.
    package init(_ selectors: [RelatedSelector]) {
        self.selectors = selectors.map(\.selector)
        let keys = self.selectors.map(\.equalTexts)
        // A text that few selectors require excludes most of them.
        var uses: [FieldPath: [[UInt8]: Int]] = [:]
        for (path, text) in keys.joined() { uses[path, default: [:]][text, default: 0] += 1 }
        var places: [FieldPath: Int] = [:]
        for (index, keys) in keys.enumerated() {
            let best = keys.min { uses[$0.path]?[$0.text] ?? 0 < uses[$1.path]?[$1.text] ?? 0 }
            guard let best else {
                unindexed.append(index)
                continue
            }
            let place = places[best.path] ?? fields.count
            if place == fields.count {
                places[best.path] = place
                fields.append(Field(path: best.path))
            }
            fields[place].texts[best.text, default: []].append(index)
            fields[place].all.append(index)
        }
    }

    /// The indexes of the selectors that match, unordered. A selector that can't be evaluated counts as a match: the
    /// decision then reports the error.
    package func matching(_ document: JSONValue) -> [Int] {
        var found: [Int] = []
        for index in unindexed where matches(index, document) { found.append(index) }
        for field in fields {
            guard case .found(let value) = field.path.lookUp(in: document), value.kind == .string else { continue }
            let isPrintable = value.isPlainASCII && !value.rawContent.contains(0x7F)
            let candidates = isPrintable ? field.texts[Array(value.rawContent)] ?? [] : field.all
            for index in candidates where matches(index, document) { found.append(index) }
        }
        return found
    }

    private func matches(_ index: Int, _ document: JSONValue) -> Bool {
        do throws(MatchError) { return try selectors[index].matches(document, scratch) } catch { return true }
    }
}

extension Selector {
    /// Fields that must have a certain printable ASCII text if the selector is to hold.
    fileprivate var equalTexts: [(path: FieldPath, text: [UInt8])] {
        switch self {
        case .all(let selectors): return selectors.flatMap(\.equalTexts)
        case .field(let path, .compare(.equal, let literal)):
            guard let text = literal.value.utf8, text.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return [] }
            return [(path, text)]
        case .any, .not, .none, .field, .value: return []
        }
    }
}
