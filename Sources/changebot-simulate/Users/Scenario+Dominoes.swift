/// The rule that leads to itself by what it puts, and what it means.
extension Scenario {
    static let dominoRules = """
          - name: domino
            when: { type: domino, fallen: { $exists: false } }
            then:
              - put:
                  id: { jq: '"domino.\\(.chain).\\(.step + 1)"' }
                  document: { type: domino, chain: { jq: .chain }, step: { jq: .step + 1 } }
                  if_exists: keep
              - merge: { fallen: true }
        """

    /// How many documents a chain of puts adds, at most.
    static let chainLimit = 11

    static func domino(_ step: Int, of chain: Int) -> String { "domino.\(chain).\(step)" }

    /// Nil for another document.
    static func domino(_ id: String) -> (chain: Int, step: Int)? {
        let parts = id.split(separator: ".")
        guard parts.count == 3, parts[0] == "domino", let chain = Int(parts[1]), let step = Int(parts[2]) else {
            return nil
        }
        return (chain, step)
    }

    static func dominoBody(_ id: String) -> String? {
        domino(id).map { #"{"type":"domino","chain":\#($0.chain),"step":\#($0.step)}"# }
    }

    /// The document that a domino leads to, unless it has fallen.
    static func dominoes(neededBy id: String, _ revision: StoredRevision) -> [String] {
        guard !revision.isDeleted, revision.body["type"] == #""domino""#, revision.body["fallen"] == nil,
            let (chain, step) = domino(id)
        else { return [] }
        return [domino(step + 1, of: chain)]
    }

    static func mayEndChain(_ revision: StoredRevision, because reason: String) -> Bool {
        revision.body["type"] == #""domino""# && reason.contains("rule chain: ")
    }
}
