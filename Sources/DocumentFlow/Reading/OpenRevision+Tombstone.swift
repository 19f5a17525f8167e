package import GatewayClient
package import LosslessJSON

extension [OpenRevision] {
    /// The winner among the deleted leaves: the one with the highest generation and, in a tie, the greatest digest. Nil
    /// if no leaf is deleted.
    package var winningTombstone: (revision: RevisionID, text: JSONText)? {
        compactMap { leaf -> (revision: RevisionID, text: JSONText)? in
            guard case .found(let text) = leaf, text.root["_deleted"]?.bool == true else { return nil }
            return text.root["_rev"]?.string.map { (RevisionID($0), text) }
        }.max {
            ($0.revision.generation ?? 0, $0.revision.text) < ($1.revision.generation ?? 0, $1.revision.text)
        }
    }
}
