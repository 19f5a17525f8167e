internal import GatewayClient
internal import LosslessJSON

/// The result of the check of every document.
struct DocumentCheck {
    private var once = 0
    private var wrong: [String] = []
    private let deadLetters: Int

    var hasPassed: Bool { wrong.isEmpty }

    var text: String {
        let sum = "\(once) documents stamped exactly once, \(deadLetters) dead letters"
        guard !hasPassed else { return sum + "; nothing was lost, duplicated or altered" }
        return ([sum + ", \(wrong.count) documents are wrong:"] + wrong.prefix(20)).joined(separator: "\n  ")
    }

    /// Reads all documents. The revision number must be the creation plus the edits plus one stamp.
    init(_ url: GatewayURL, _ population: Population, edits: EditCount, deadLetters: [String]) async throws {
        self.deadLetters = deadLetters.count
        let phone = SoakWriter(url, seed: 0)
        for start in stride(from: 0, to: population.documents, by: 500) {
            let numbers = Array(start..<min(start + 500, population.documents))
            for (number, lookup) in zip(numbers, try await phone.lookUp(numbers.map(population.id))) {
                check(number, lookup, edits: edits.edits(of: number), population)
            }
        }
        let expected = Set((0..<population.broken).map { population.brokenID($0).text })
        if Set(deadLetters) != expected || deadLetters.count != expected.count {
            wrong.append("dead letters: \(deadLetters.count) of \(expected.count) documents")
        }
    }

    private mutating func check(_ number: Int, _ lookup: DocumentLookup, edits: Int, _ population: Population) {
        let id = population.id(number).text
        guard case .found(let revision, let document) = lookup else { return wrong.append("\(id): not there") }
        let generation = Int(revision.text.prefix { $0 != "-" }) ?? 0
        let root = document.root
        if root["stamped"]?.bool != true {
            wrong.append("\(id): not stamped")
        } else if root["edits"]?.integer != edits {
            wrong.append("\(id): an edit was lost")
        } else if root["big"].map({ Array($0.bytes) }) != Array("12345678901234567890123".utf8) {
            wrong.append("\(id): a number was altered")
        } else if generation != edits + 2 {
            wrong.append("\(id): \(edits) edits, but revision \(revision.text)")
        } else {
            once += 1
        }
    }
}
